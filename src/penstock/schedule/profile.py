"""Measured bandwidth profiles, read from the formats they were published in."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import DataError, MissingError
from penstock.schedule.application import Curve
from penstock.units import MB, MIB


@dataclass(frozen=True, slots=True)
class Profile:
    """A named curve; `direct_bytes_per_s` is the bandwidth with no I/O resource in between, if known."""

    name: str
    curve: Curve
    direct_bytes_per_s: float | None = None

    @property
    def best_count(self) -> int:
        """The smallest count of the highest bandwidth, 0 when direct access is fastest."""
        best = max(self.curve.bytes_per_s)
        if self.direct_bytes_per_s is not None and self.direct_bytes_per_s >= best:
            return 0
        return self.curve.counts[self.curve.bytes_per_s.index(best)]


@dataclass(frozen=True, slots=True)
class CurveSource:
    """A published data set: the file below the data directory, how to read it, and whose it is."""

    path: str
    read: Callable[[Path], tuple[Profile, ...]]
    origin: str


def read_io_node_curves(path: Path, statistic: str = "max") -> tuple[Profile, ...]:
    """Profiles over I/O nodes.

    The maximum over repetitions is used, as it reproduces the published distribution of best counts.
    """
    rows = _rows(path, ("scenario", "forwarders", statistic))
    return _profiles(path, ((r["scenario"], r["forwarders"], r[statistic]) for r in rows), MB)


def read_ost_curves(path: Path) -> tuple[Profile, ...]:
    """Profiles over OSTs, mean over repetitions."""
    rows = _rows(path, ("nodes", "procs", "aggregate_gib", "osts", "op", "mean_mib_s"))
    points = (
        (f"{r['op']}-{r['nodes']}x{r['procs']}-{r['aggregate_gib']}gib", r["osts"], r["mean_mib_s"])
        for r in rows
    )
    return _profiles(path, points, MIB)


def read_app_curves(path: Path) -> tuple[Profile, ...]:
    """Profiles of nine applications over I/O nodes."""
    rows = _rows(path, ("scenario", "forwarders", "bandwidth"), delimiter=";")
    return _profiles(path, ((r["scenario"], r["forwarders"], r["bandwidth"]) for r in rows), MB)


SOURCES = {
    "io-nodes": CurveSource(
        "io-node-curves/curves_mn4.csv",
        read_io_node_curves,
        "J. L. Bez et al., forge-evaluation, MareNostrum 4, Zenodo 10.5281/zenodo.4016899",
    ),
    "osts": CurveSource("ost-curves/curves_ost.csv", read_ost_curves, "OPRAEL, IOR on Lustre, MIT"),
    "applications": CurveSource(
        "app-curves/bandwidth.csv", read_app_curves, "F. Zanon Boito, queue_generator, Grid'5000, MIT"
    ),
}


def load_profiles(name: str, data_dir: Path) -> tuple[Profile, ...]:
    """The profiles of a published data set below `data_dir`."""
    source = SOURCES[name]
    return source.read(data_dir / source.path)


def _rows(path: Path, columns: Sequence[str], delimiter: str = ",") -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, delimiter=delimiter))
    except FileNotFoundError:
        raise MissingError(
            f"{path}: no such file; --data names the directory with the measured curves"
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: {error}") from None
    if not rows:
        raise DataError(f"{path}: no rows")
    for column in columns:
        if column not in rows[0]:
            raise DataError(f"{path}: no column {column!r}")
    return rows


def _profiles(path: Path, points: Iterable[tuple[str, str, str]], unit: float) -> tuple[Profile, ...]:
    curves: dict[str, dict[int, float]] = {}
    for name, count, bandwidth in points:
        try:
            curves.setdefault(name, {})[int(count)] = float(bandwidth) * unit
        except ValueError:
            raise DataError(
                f"{path}: {name}: {count!r}, {bandwidth!r} are not a count and a bandwidth"
            ) from None
    return tuple(_profile(path, name, curve) for name, curve in curves.items())


def _profile(path: Path, name: str, points: Mapping[int, float]) -> Profile:
    counts = tuple(sorted(count for count in points if count > 0))
    try:
        curve = Curve(counts, tuple(points[count] for count in counts))
    except DataError as error:
        raise DataError(f"{path}: {name}: {error}") from None
    direct = points.get(0, math.nan)
    return Profile(name, curve, None if math.isnan(direct) else direct)
