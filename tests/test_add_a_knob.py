"""The example of docs/how-to/add-a-knob.md: another knob of a known kind of target, from declaration to restore."""

from __future__ import annotations

import re
import time
from pathlib import Path

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre_metadata import LliteActuator
from penstock.knobs import Knob, KnobSpace, Setting, TargetKind
from penstock.knobs.target_kind import METADATA, MODIFY, OPERATIONS, QUERY
from penstock.observe.kernelfs import KernelFs
from penstock.observe.lustre.layout import llite_target
from penstock.observe.lustre.sources import llite_source
from penstock.snapshot import TargetSnapshot

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "add-a-knob.md"

# example: declaration
RUNNING = TargetKind("statahead-running", METADATA, (QUERY, MODIFY), OPERATIONS)
SCANS = Knob("scans", (4, 16, 64, 256), 16, "scans", 0, 256, limits=("query",))
SPACE = KnobSpace(RUNNING.name, (SCANS,), kind=RUNNING)
# example: files
FILES = {"scans": "statahead_running_max"}
# example: end


def a_mount(root: Path) -> Path:
    """A client's tree with one mount, and the file of the knob."""
    directory = root / "sys/fs/lustre/llite/lustre-ff1100010179b000"
    directory.mkdir(parents=True)
    (directory / "statahead_running_max").write_text("16\n")
    (directory / "stats").write_text("snapshot_time 2.0 secs.nsecs\ngetattr 7 samples [usecs] 1 9 30 200\n")
    return directory


def test_knob_is_read_set_and_restored_from_a_declaration_and_a_list_of_files(tmp_path: Path) -> None:
    file = a_mount(tmp_path / "root") / "statahead_running_max"
    # example: reading
    target = llite_target("lustre-ff1100010179b000", RUNNING)
    assert target is not None
    seen = llite_source(KernelFs(tmp_path / "root"), target, FILES, time.monotonic).read()
    assert isinstance(seen, TargetSnapshot)
    assert seen.setting == Setting(scans=16)
    assert seen.counters["query.ops"] == 7
    # example: writing
    journal = Journal(tmp_path / "state", owner_of(tmp_path / "root"))
    actuator = LliteActuator(tmp_path / "root", journal, SPACE, FILES)
    assert actuator.set(target, Setting(scans=64)).exact
    assert file.read_text() == "64\n"
    assert journal.entries[target.name].original == Setting(scans=16)
    assert actuator.restore(target).actual == Setting(scans=16)
    assert file.read_text() == "16\n"
    # example: end


def test_page_shows_this_example() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    parts = re.findall(r"^ *# example: \w+\n(.*?)(?=^ *# example:)", source, re.DOTALL | re.MULTILINE)
    kept = [part for part in parts if part.strip() and not part.lstrip().startswith(("def ", '"""'))][:4]
    lines = [[line.strip() for line in part.strip().splitlines()] for part in kept]
    assert [[line.strip() for line in block.strip().splitlines()] for block in shown] == lines
