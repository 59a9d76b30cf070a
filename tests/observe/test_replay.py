"""Replaying recordings: every captured series against figures computed here from the raw text."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.observe.conftest import FIXTURES, SERIES, Client, stats_text

from penstock.errors import DataError, MissingError
from penstock.observe.collector import LustreObserver
from penstock.observe.recorded_windows import Discarded, Replay
from penstock.observe.recording import RecordedProbe, RecordingWriter, parse_probe, read_recording
from penstock.ratios import carat_metrics
from penstock.spaces import LUSTRE
from penstock.window import Void, VoidReason, Window

Item = Window | Void | Discarded
OSC = "lustre-OST0000-osc-ff01"
BASE = f"/sys/kernel/debug/lustre/osc/{OSC}"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def replay(*probes: RecordedProbe) -> list[Item]:
    return list(Replay().windows(probes))


def probe(t_s: float, stats: str | None, **files: str) -> RecordedProbe:
    texts = {f"/sys/fs/lustre/osc/{OSC}/{name}": text for name, text in files.items()}
    return RecordedProbe(t_s, texts if stats is None else {f"{BASE}/stats": stats, **texts})


def raw(files: dict[str, str], osc: str, name: str) -> str:
    (text,) = (text for path, text in files.items() if path.endswith(f"/osc/{osc}/{name}"))
    return text


def raw_row(text: str, name: str) -> tuple[int, int]:
    match = re.search(rf"^{name}\s+(\d+) samples \[\w+\] \d+ \d+ (\d+)", text, re.MULTILINE)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def expected(first: dict[str, Any], second: dict[str, Any], osc: str) -> dict[str, float | None]:
    """CARAT's metrics by the recipes of the mechanisms, written down a second time on purpose."""
    before, after = first["files"], second["files"]
    seconds = second["t"] - first["t"]
    pages, flight = (int(raw(after, osc, f)) for f in ("max_pages_per_rpc", "max_rpcs_in_flight"))
    found: dict[str, float | None] = {}
    for direction in ("read", "write"):
        old, new = (raw(files, osc, "stats") for files in (before, after))
        rpcs = raw_row(new, f"{direction}_bytes")[0] - raw_row(old, f"{direction}_bytes")[0]
        moved = raw_row(new, f"{direction}_bytes")[1] - raw_row(old, f"{direction}_bytes")[1]
        usec = raw_row(new, f"ost_{direction}")[1] - raw_row(old, f"ost_{direction}")[1]
        found[f"{direction}.bytes"] = moved
        found[f"{direction}.page_utilisation"] = moved / 4096 / rpcs / pages if rpcs else None
        found[f"{direction}.channel_utilisation"] = usec / (seconds * 1e6) / flight if rpcs else None
        found[f"{direction}.page_latency_us"] = usec / (moved / 4096) if rpcs else None
    dirty = [int(raw(files, osc, "cur_dirty_bytes")) for files in (before, after)]
    found["dirty.utilisation"] = dirty[1] / (int(raw(after, osc, "max_dirty_mb")) * 2**20)
    return found


def expected_update(first: dict[str, Any], second: dict[str, Any], osc: str) -> float | None:
    """The cache update where some target sent something; the other cases are the windows' own tests."""
    before, after = first["files"], second["files"]
    oscs = {path.split("/")[-2] for path in after if "/osc/" in path}
    sent = {
        name: raw_row(raw(after, name, "stats"), "write_bytes")[1]
        - raw_row(raw(before, name, "stats"), "write_bytes")[1]
        for name in oscs
    }
    if not sum(sent.values()):
        return None
    llite = [
        raw_row(next(t for p, t in files.items() if re.search(r"/llite/[^/]+/stats$", p)), "write_bytes")[1]
        for files in (before, after)
    ]
    dirty = [int(raw(files, osc, "cur_dirty_bytes")) for files in (before, after)]
    share = sent[osc] / sum(sent.values())
    return max(0.0, share * (llite[1] - llite[0]) - sent[osc] - (dirty[1] - dirty[0]))


@pytest.mark.parametrize("path", SERIES, ids=lambda path: f"{path.parts[-3]}-{path.name[:-9]}")
def test_replay_of_a_capture_equals_figures_from_the_raw_text(path: Path) -> None:
    probes = lines(path)
    found = list(Replay().windows(read_recording(path)))
    oscs = sorted({name.split("/")[-2] for name in probes[0]["files"] if "/osc/" in name})
    assert len(found) == (len(probes) - 1) * len(oscs)
    by_time = {(item.t0_s, item.t1_s, item.target.name): item for item in found}
    for first, second in pairwise(probes):
        for osc in oscs:
            item = by_time[first["t"], second["t"], osc]
            assert isinstance(item, Window)
            metrics = carat_metrics(item, LUSTRE)
            for name, value in expected(first, second, osc).items():
                assert metrics[name] == (None if value is None else pytest.approx(value, rel=1e-12)), name
            update = expected_update(first, second, osc)
            if update is not None:
                assert metrics["cache_update_bytes"] == pytest.approx(update, rel=1e-9, abs=1e-3)


def test_replay_of_stats_alone_knows_volumes_and_latency() -> None:
    (item,) = replay(probe(0.0, stats_text(1)), probe(2.0, stats_text(3)))
    assert isinstance(item, Window)
    assert item.metrics["read.bytes"] == 2 * 4194304
    metrics = carat_metrics(item, LUSTRE)
    assert metrics["read.page_latency_us"] == pytest.approx(2000 / 2048)
    for name in (
        "read.page_utilisation",
        "read.channel_utilisation",
        "dirty.utilisation",
        "cache_update_bytes",
    ):
        assert metrics[name] is None


@pytest.mark.parametrize("root", ["", "/proc/fs/lustre", "/some/where/else/sys/fs/lustre", "/copied"])
def test_replay_finds_files_wherever_they_were_recorded(root: str) -> None:
    probes = [RecordedProbe(t, {f"{root}/osc/{OSC}/stats": stats_text(t)}) for t in (1, 2)]
    (item,) = replay(*probes)
    assert isinstance(item, Window)
    assert item.metrics["write.bytes"] == 4194304


def test_replay_prefers_sysfs_over_procfs_over_debugfs() -> None:
    files = {
        f"/proc/fs/lustre/osc/{OSC}/max_pages_per_rpc": "64\n",
        f"/sys/kernel/debug/lustre/osc/{OSC}/max_pages_per_rpc": "1\n",
    }
    probes = [RecordedProbe(t, {**files, f"{BASE}/stats": stats_text(t)}) for t in (1, 2)]
    (item,) = replay(*probes)
    assert isinstance(item, Window)
    assert item.setting["pages"] == 64


def test_replay_ignores_metadata_and_server_paths() -> None:
    names = ("lustre-OST0000-osc-MDT0000", "lustre-MDT0000-mdc-ff01", "lustre-MDT0000-osp-MDT0001")
    probes = [
        RecordedProbe(
            t,
            {
                f"/sys/kernel/debug/lustre/{kind}/{name}/stats": stats_text(t)
                for name in names
                for kind in ("osc", "mdc")
            },
        )
        for t in (1, 2)
    ]
    assert replay(*probes) == []


def test_replay_voids_a_reset_and_goes_on_after_it() -> None:
    steps = [(1, "1.0"), (5, "1.0"), (1, "9.0"), (2, "9.0")]
    found = replay(*(probe(float(t), stats_text(step, since)) for t, (step, since) in enumerate(steps)))
    assert [type(item) for item in found] == [Window, Void, Window]
    assert isinstance(found[1], Void)
    assert found[1].reason is VoidReason.RESTARTED


def test_replay_voids_a_reset_that_only_the_counters_tell() -> None:
    bare = [stats_text(step).split("\n", 3)[3] for step in (5, 1, 2)]
    found = replay(*(probe(float(t), text) for t, text in enumerate(bare)))
    assert [type(item) for item in found] == [Void, Window]


def test_replay_of_a_probe_cut_inside_a_line_yields_no_window_on_either_side() -> None:
    whole = [stats_text(step) for step in range(1, 6)]
    for torn in (whole[2][:-7], ""):
        texts = [*whole[:2], torn, *whole[3:]]
        found = replay(*(probe(float(t), text) for t, text in enumerate(texts)))
        assert [type(item) for item in found] == [Window, Discarded, Discarded, Window]
        assert [(item.t0_s, item.t1_s) for item in found] == [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("row", ["read_bytes", "write_bytes", "ost_read", "ost_write"])
@pytest.mark.parametrize("headless", [False, True])
def test_replay_of_a_probe_cut_between_lines_yields_no_window_on_either_side(
    row: str, headless: bool
) -> None:
    whole = [stats_text(step) for step in range(1, 7)]
    if headless:
        whole = [text.split("\n", 3)[3] for text in whole]
    texts = [*whole[:2], whole[2][: whole[2].index(row)], *whole[3:]]
    found = replay(*(probe(float(t), text) for t, text in enumerate(texts)))
    assert [type(item) for item in found] == [Window, Void, Void, Window, Window]


def test_replay_goes_on_at_once_after_a_clear_that_no_start_time_tells() -> None:
    rows = [stats_text(step).split("\n", 3)[3] for step in (5, 6, 1, 2)]
    idle = "snapshot_time 1.0 secs.usecs\n"
    found = replay(*(probe(float(t), text) for t, text in enumerate([*rows[:2], idle, idle, *rows[2:]])))
    assert [type(item) for item in found] == [Window, Void, Window, Window, Window]
    moved = [item.metrics["read.bytes"] for item in found if isinstance(item, Window)]
    assert moved == [4194304, 0, 4194304, 4194304]


def test_replay_carries_on_over_a_probe_that_does_not_mention_the_target() -> None:
    found = replay(probe(0.0, stats_text(1)), RecordedProbe(0.5, {}), probe(1.0, stats_text(2)))
    (item,) = found
    assert isinstance(item, Window)
    assert (item.t0_s, item.t1_s, item.metrics["read.bytes"]) == (0.0, 1.0, 4194304)


def test_replay_voids_a_clock_that_runs_backwards() -> None:
    found = replay(probe(5.0, stats_text(1)), probe(4.0, stats_text(2)), probe(6.0, stats_text(3)))
    assert [type(item) for item in found] == [Void, Window]


@pytest.mark.parametrize("gone", ["state: DISCONN\n    generation: 1", "state: FULL\n    generation: 2"])
def test_replay_voids_a_lost_connection(gone: str) -> None:
    imports = [f"import:\n    {text}\n" for text in ("state: FULL\n    generation: 1", gone)]
    found = replay(
        *(probe(float(t), stats_text(t + 1), **{"import": text}) for t, text in enumerate(imports))
    )
    assert [type(item) for item in found] == [Void]


def test_replay_takes_an_eviction_for_a_new_beginning(unpacked: Callable[[Path], bytes]) -> None:
    capture = unpacked(FIXTURES / "lustre-2.17.57/actuation/evict.jsonl.gz").splitlines()
    imports = [record["import"] for line in capture if "import" in (record := json.loads(line))]
    generations = [re.search(r"generation: (\d+)", text)[1] for text in imports]  # type: ignore[index]
    assert len(set(generations)) > 1, "the capture holds an eviction"
    found = replay(
        *(probe(float(t), stats_text(t + 1), **{"import": text}) for t, text in enumerate(imports))
    )
    kinds = [Window if old == new else Void for old, new in pairwise(generations)]
    assert [type(item) for item in found] == kinds


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_replay_of_damaged_texts_raises_nothing_and_invents_nothing(data: st.DataObject) -> None:
    probes = [
        RecordedProbe(t, {f"{BASE}/stats": stats_text(t), f"/sys/fs/lustre/osc/{OSC}/max_dirty_mb": "4\n"})
        for t in range(1, 6)
    ]
    victim = data.draw(st.sampled_from(probes))
    path = data.draw(st.sampled_from(sorted(victim.files)))
    text = victim.files[path]
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.text(max_size=5)) + text[at + data.draw(st.integers(0, 30)) :]
    probes[probes.index(victim)] = RecordedProbe(victim.t_s, {**victim.files, path: damaged})
    for item in replay(*probes):
        if isinstance(item, Window) and victim.t_s not in (item.t0_s, item.t1_s):
            assert item.metrics["read.bytes"] == 4194304


def test_recording_cut_at_every_byte_raises_nothing_but_data_errors(tmp_path: Path) -> None:
    whole = b"".join(
        json.dumps({"t": t, "files": {f"{BASE}/stats": stats_text(t)}}).encode() + b"\n" for t in (1, 2)
    )
    path = tmp_path / "cut.jsonl"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert len(list(Replay().windows(read_recording(path)))) <= 1


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("nonsense", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ('{"files": {}}', '"t" must be'),
        ('{"t": "1", "files": {}}', '"t" must be'),
        ('{"t": NaN, "files": {}}', '"t" must be'),
        ('{"t": true, "files": {}}', '"t" must be'),
        ('{"t": 1}', '"files" must map'),
        ('{"t": 1, "files": []}', '"files" must map'),
        ("[" * 100_000, "not a JSON object"),
    ],
)
def test_recording_with_a_bad_line_names_it(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"t": 0, "files": {}}\n' + line + "\n" + '{"t": 2, "files": {}}\n')
    with pytest.raises(DataError, match=f"bad.jsonl:2: .*{re.escape(what)}"):
        list(read_recording(path))


def test_recording_that_is_missing_or_no_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file"):
        list(read_recording(tmp_path / "none"))
    with pytest.raises(DataError, match="directory"):
        list(read_recording(tmp_path))


def test_parse_probe_ignores_unknown_keys_and_files_without_text() -> None:
    parsed = parse_probe(b'{"t": 1, "wall": 3, "x": {}, "files": {"a": null, "b": "text", "c": 5}}')
    assert parsed == RecordedProbe(1, {"b": "text"})


def test_recorder_writes_what_replay_reads(client: Client, tmp_path: Path) -> None:
    client.osc(OSC)
    observer = LustreObserver(client.root, rescan_s=0.0)
    writer = RecordingWriter(tmp_path / "r.jsonl")
    for step in (1, 2, 3):
        client.stats(OSC).write_text(stats_text(step))
        writer.write(observer.probe())
    writer.close()
    found = list(Replay().windows(read_recording(tmp_path / "r.jsonl")))
    assert [item.metrics["read.bytes"] for item in found if isinstance(item, Window)] == [4194304] * 2
    assert all(
        isinstance(item, Window) and item.setting == {"pages": 1024, "flight": 8, "dirty": 490}
        for item in found
    )


def test_recorder_rotates_without_losing_a_window(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    writer = RecordingWriter(path, rotate_bytes=4000, kept_files=2)
    for step in range(1, 20):
        writer.write(probe(float(step), stats_text(step)))
    writer.close()
    files = [path, *(tmp_path / f"r.jsonl.{n}" for n in (1, 2))]
    assert sorted(tmp_path.glob("r.jsonl*")) == sorted(files)
    starts = [
        t0 for file in reversed(files) for t0 in (w.t0_s for w in Replay().windows(read_recording(file)))
    ]
    assert starts == sorted(set(starts))
    assert starts[-1] - starts[0] == len(starts) - 1, "a window was lost at a rotation"
    assert all(file.stat().st_size <= 4000 for file in files)
