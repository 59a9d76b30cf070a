"""Files of recorded requests: CSV, Parquet and Darshan's extended traces; bad ones are refused by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import DataError, MissingError, PenstockError, UsageError
from penstock.evaluate.recorded_requests import COLUMNS, read_requests

TEXT = """t,client,stream,file,op,offset,bytes,seconds,comment
5.0,0,0,/scratch/a,read,0,1048576,0.25,hello
5.5,1,3,/scratch/b,write,4096,8192,,
6.0,1,3,/scratch/b,write,4096,0,0,empty requests are left out
"""


def test_csv_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(TEXT, encoding="utf-8")
    requests = read_requests(path)
    assert len(requests) == 2
    assert requests.names == ("/scratch/a", "/scratch/b")
    assert (requests.t_s.tolist(), requests.seconds.tolist()) == ([0.0, 0.5], [0.25, 0.0])


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    source, path = tmp_path / "mine.csv", tmp_path / "mine.parquet"
    source.write_text(TEXT, encoding="utf-8")
    parquet.write_table(csv.read_csv(source), path)
    assert read_requests(path).size.tolist() == read_requests(source).size.tolist()
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"mine\.parquet"):
        read_requests(path)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("bytes", "byte", "bytes"),
        ("5.5,1", "nan,1", "row 3"),
        ("5.5,1", "-5,1", "row 3"),
        ("8192", "8k", "bytes='8k'"),
        ("4096,8192", "-1,8192", "offset='-1'"),
        ("write,4096,8192", "append,4096,8192", "append"),
    ],
)
def test_bad_rows_are_refused_by_name(tmp_path: Path, old: str, new: str, part: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.csv") as error:
        read_requests(path)
    assert part in str(error.value)


def test_missing_empty_and_unknown_files_are_refused(tmp_path: Path) -> None:
    cases: list[tuple[str, str | None, type[PenstockError]]] = [
        ("none.csv", None, MissingError),
        ("empty.csv", "", DataError),
        ("bare.csv", ",".join(COLUMNS) + "\n", DataError),
        ("mine.txt", TEXT, UsageError),
        ("x.darshan", "no log", DataError),
    ]
    for name, text, kind in cases:
        path = tmp_path / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(kind, match=name):
            read_requests(path)


@pytest.fixture(scope="module")
def example_logs() -> Path:
    darshan = pytest.importorskip("darshan")
    return Path(darshan.__file__).parent / "examples" / "example_logs"


def test_dxt_of_a_darshan_log_becomes_requests(example_logs: Path) -> None:
    requests = read_requests(example_logs / "ior_hdf5_example.darshan")
    assert len(requests) == 59
    assert requests.t_s.min() == 0
    assert (requests.size > 0).all()
    assert len(requests.names) >= 1
    assert set(requests.op.tolist()) <= {0, 1}


def test_log_without_dxt_says_how_to_get_one(example_logs: Path) -> None:
    with pytest.raises(DataError, match="DXT_ENABLE_IO_TRACE"):
        read_requests(example_logs / "example.darshan")
