"""A journal that a killed agent of an earlier version left is restored exactly, and goes on in the new format."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from penstock.actuate.journal import FILE, FORMAT, Journal, owner_of
from penstock.actuate.node_actuator import NodeActuator
from penstock.actuate.recovery import restore_all, verify_all
from penstock.knobs import Setting

JOURNAL = Path(__file__).parent.parent / "fixtures" / "journal-format-1" / FILE
LEFT = {
    "OST0000": Setting(pages=256, flight=64, dirty=512),
    "OST0001": Setting(pages=1024, flight=32, dirty=490),
}
ORIGINAL = Setting(pages=1024, flight=8, dirty=490)
FILES = {"pages": "max_pages_per_rpc", "flight": "max_rpcs_in_flight", "dirty": "max_dirty_mb"}


@pytest.fixture
def state(tree: Path, tmp_path: Path) -> Path:
    """The tree as the killed agent left it, and its journal."""
    boot_id = tree / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    boot_id.write_text("boot-1\n")
    for ost, setting in LEFT.items():
        for knob_id, value in setting.items():
            (path,) = tree.rglob(f"osc/*{ost}*/{FILES[knob_id]}")
            path.write_text(f"{value}\n")
    body = json.loads(JOURNAL.read_text())["body"] | {"root": str(tree.resolve())}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    checksum = hashlib.sha256(text.encode()).hexdigest()
    state = tmp_path / "state"
    state.mkdir()
    (state / FILE).write_text(f'{{"format":1,"checksum":"{checksum}","body":{text}}}')
    (state / FILE).chmod(0o600)
    return state


def settings(root: Path) -> dict[str, Setting]:
    return {
        ost: Setting(
            {
                knob_id: int(next(root.rglob(f"osc/*{ost}*/{file}")).read_text())
                for knob_id, file in FILES.items()
            }
        )
        for ost in LEFT
    }


def test_restore_after_an_upgrade_brings_every_original_back(tree: Path, state: Path) -> None:
    assert settings(tree) == LEFT
    outcome = restore_all(tree, state)
    assert not outcome.failed and not outcome.left and not outcome.gone
    assert settings(tree) == dict.fromkeys(LEFT, ORIGINAL)
    assert Journal(state, owner_of(tree)).entries == {}


def test_verify_after_an_upgrade_names_what_the_old_version_left(tree: Path, state: Path) -> None:
    found = {(one.knob_id, one.actual) for one in verify_all(tree, state).differences}
    assert found == {("pages", 256), ("flight", 64), ("dirty", 512), ("flight", 32)}
    assert settings(tree) == LEFT


def test_setting_after_an_upgrade_keeps_the_old_originals_in_the_new_format(tree: Path, state: Path) -> None:
    actuator = NodeActuator(tree, Journal(state, owner_of(tree)))
    target = actuator.targets()[0]
    receipt = actuator.set(target, Setting(flight=16))
    assert receipt.exact
    written = json.loads((state / FILE).read_text())
    assert written["format"] == FORMAT == 2
    entry = written["body"]["targets"][target.name]
    assert entry["original"] == dict(ORIGINAL)
    assert entry["baseline"] == {"generation": 1, "brw_pages": 1024}
    restore_all(tree, state)
    assert settings(tree) == dict.fromkeys(LEFT, ORIGINAL)
