"""The texts of Lustre's statistics files, in the dialects of 2.15 and 2.17."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.emulate.served_client import Sums

Bins = Sequence[int]


def head(now_s: float, start_s: float, *, width: int, mark: str = "") -> str:
    """The three time lines every statistics file begins with."""
    lines = (("snapshot_time", now_s), ("start_time", start_s), ("elapsed_time", now_s - start_s))
    return "".join(f"{name + mark:<{width}}{_time(value)} secs.nsecs\n" for name, value in lines)


def _time(seconds: float) -> str:
    return f"{int(seconds)}.{int(seconds % 1 * 1e8) * 10:09d}"


def stats_row(name: str, sums: Sums, unit: str, *, width: int) -> str:
    """One row of a `stats` file; a row without samples is not printed.

    >>> stats_row("read_bytes", Sums(2, 4096, 8192, 12288, 83886080), "bytes", width=26)
    'read_bytes                2 samples [bytes] 4096 8192 12288 83886080\\n'
    """
    if not sums.count:
        return ""
    return (
        f"{name:<{width}}{sums.count} samples [{unit}] {sums.low} {sums.high} {sums.total} {sums.squares}\n"
    )


def histogram(title: str, column: str, labels: Iterable[int], read: Bins, write: Bins) -> str:
    """One section of `rpc_stats`: rows stop once both directions are complete, percentages are truncated."""
    wide = column == "count"
    heading = f"{title:<23}{column:>5}" if wide else f"{title:<22}{column:>4}"
    second = f"{column:>11}" if wide else f"{column:>10}"
    text = f"\n\t\t\tread\t\t\twrite\n{heading}   % cum % | {second}   % cum %\n"
    return text + "".join(_rows(labels, read, write))


def _rows(labels: Iterable[int], read: Bins, write: Bins) -> Iterator[str]:
    read_all, write_all = sum(read), sum(write)
    read_sum = write_sum = 0
    for index, label in enumerate(labels):
        r = read[index] if index < len(read) else 0
        w = write[index] if index < len(write) else 0
        read_sum += r
        write_sum += w
        yield (
            f"{label}:\t\t{r:10d} {_percent(r, read_all):3d} {_percent(read_sum, read_all):3d}   |"
            f" {w:10d} {_percent(w, write_all):3d} {_percent(write_sum, write_all):3d}\n"
        )
        if read_sum == read_all and write_sum == write_all:
            return


def _percent(part: int, whole: int) -> int:
    return 100 * part // whole if whole else 0


def powers(count: int) -> list[int]:
    """The labels 1, 2, 4, ..."""
    return [1 << i for i in range(count)]
