"""Recordings of held settings: intervals, a table to learn from, and cases of a survey."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.predict import surveyfile
from penstock.spaces import LUSTRE
from penstock.train.held import read_held
from penstock.train.intervals import from_table, read_workloads
from penstock.train.recorded_cases import recorded_rates
from penstock.train.samples import samples
from penstock.train.survey import make_survey
from penstock.train.table import NUMBERS, TraceTable, read_table

DATA = Path(__file__).parents[1] / "fixtures" / "lustre-latency"
SETTINGS = {(64, 1), (64, 16), (1024, 1), (1024, 8), (1024, 16)}


def test_held_settings_keep_their_intervals_and_the_programs_own_figures() -> None:
    reads, writes = read_held(DATA)
    assert (reads.name, writes.name) == ("rtt10-rr_1m_4", "rtt10-sw_1m_1")
    assert {(s["pages"], s["flight"]) for s in reads.settings} == SETTINGS
    assert reads.mbps[Setting(pages=1024, flight=8)] == pytest.approx(33.76, abs=0.01)
    for setting, intervals in reads.intervals.items():
        assert all(each.window.setting.only("pages", "flight") == setting for each in intervals)
        assert all(0.4 < each.window.seconds < 0.7 for each in intervals)
        assert [len(each.before) for each in intervals] == list(range(len(intervals)))


def test_intervals_from_the_last_read_on_are_no_work_of_a_cell() -> None:
    reads, _ = read_held(DATA)
    for intervals in reads.intervals.values():
        rates = [each.window.metrics["app.read_bytes"] / each.window.seconds for each in intervals]
        assert min(rates) > 0.2 * max(rates)


def test_table_pairs_intervals_of_one_setting_with_those_of_another() -> None:
    table = read_table(DATA)
    for direction, name in (("read", "rtt10-rr_1m_4"), ("write", "rtt10-sw_1m_1")):
        found = samples(table, direction, 1)
        assert len(found) > 20
        assert set(table.workload[found.middle]) == {name}
        pages, flight = table.column("pages"), table.column("flight")
        middle = found.middle
        assert np.all((pages[middle] == pages[middle - 1]) & (flight[middle] == flight[middle - 1]))
        assert np.all((pages[middle] != pages[middle + 1]) | (flight[middle] != flight[middle + 1]))
        assert len(set(found.run)) == 1


def test_survey_of_recordings_holds_what_was_recorded_and_survives_its_file() -> None:
    found = make_survey(recorded_rates([DATA]), "recordings", {})
    again = surveyfile.parse(surveyfile.dump(found), "survey.json")
    assert [(case.origin, case.kind) for case in again.cases] == [
        ("lustre-latency/rtt10-rr_1m_4", "read"),
        ("lustre-latency/rtt10-sw_1m_1", "write"),
    ]
    reads, _ = read_held(DATA)
    places, usual = LUSTRE.candidates().places, reads.mbps[Setting(pages=1024, flight=8)]
    for setting, mbps in reads.mbps.items():
        assert again.cases[0].gains[0, places[setting]] == pytest.approx(np.log2(mbps / usual), abs=0.15)
    slow, between, fast = (
        again.cases[0].gains[0, places[Setting(pages=64, flight=flight)]] for flight in (1, 4, 16)
    )
    assert slow < between < fast


def _broken(tmp_path: Path, old: str, new: str) -> Path:
    for file in DATA.glob("*.gz"):
        shutil.copy(file, tmp_path)
    path = tmp_path / "rtt10-rr_1m_4-1.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(old.encode(), new.encode(), 1)))
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new"), [('"pages": ', '"pags": '), ('{"t"', '{"t'), ('"running": ', '"ran": ')]
)
def test_broken_recording_is_refused_by_file_and_line(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(DataError, match=r"rtt10-rr_1m_4-1\.jsonl\.gz"):
        read_held(_broken(tmp_path, old, new))


def test_cell_without_an_end_is_passed_over(tmp_path: Path) -> None:
    lines = gzip.decompress((DATA / "rtt10-rr_1m_4-1.jsonl.gz").read_bytes()).decode().splitlines()
    kept = [line for line in lines if not ("end" in json.loads(line) and json.loads(line)["flight"] == 8)]
    (tmp_path / "cut.jsonl").write_text("\n".join(kept) + "\n")
    (workload,) = read_workloads(tmp_path)
    assert {(s["pages"], s["flight"]) for s in workload.settings} == SETTINGS - {(1024, 8)}


def test_walked_rows_count_strictly_between_the_applications_first_and_last_byte() -> None:
    app = np.array([0.0, 5e6, 4e6, 6e6, 8e6, 0.0])
    values = np.zeros((6, len(NUMBERS)))
    for name, value in {"seconds": 0.5, "pages": 64.0, "flight": 8.0, "read_bytes": 4096.0}.items():
        values[:, NUMBERS.index(name)] = value
    values[:, NUMBERS.index("read_app_bytes")] = app
    values[3, NUMBERS.index("seconds")] = 0.1
    whole = np.zeros(6, dtype=np.int64)
    table = TraceTable(np.array(["s_rd_sq_1m"] * 6), whole, whole, np.arange(6), values)
    (workload,) = from_table(table)
    assert workload.mbps == {Setting(pages=64, flight=8): pytest.approx(8.0)}
    (interval,) = workload.intervals[Setting(pages=64, flight=8)]
    assert len(interval.before) == 2


def test_recordings_feed_fit_survey_and_replay(tmp_path: Path) -> None:
    recordings, model, survey = tmp_path / "recordings", tmp_path / "model.json", tmp_path / "survey.json"
    recordings.mkdir()
    for path in DATA.glob("*-1.jsonl.gz"):
        for link in ("rtt2", "rtt5", "rtt10"):  # a model is judged on workloads that it did not see
            text = gzip.decompress(path.read_bytes()).replace(b'"rtt10"', f'"{link}"'.encode())
            (recordings / path.name.replace("rtt10", link)).write_bytes(gzip.compress(text))
    fitted = run("train", "fit", "--data", recordings, "--rounds", 4, "--out", model, "--json")
    assert set(fitted["held_out"]) == {"read", "write"}
    assert run("train", "survey", "--from", recordings, "--out", survey, "--json")["cases"] == 6
    for policy, file in (("greedy", model), ("weir", survey)):
        played = run(
            "evaluate", "replay", "--data", recordings, "--policy", policy, "--model", file, "--steps", 10,
            "--seeds", 1, "--start", "64,1", "--json",
        )  # fmt: skip
        assert len(played["rows"]) == 6
        assert all(row["policies"][policy]["mbps"] > 0.0 for row in played["rows"])


def run(*words: object) -> Any:
    done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)
