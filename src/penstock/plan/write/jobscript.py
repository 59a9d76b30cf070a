"""Advice in the form that a job can use: a ROMIO hints file, ADIOS settings, a striping command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import refusal
from penstock.plan.hints import hints_file
from penstock.plan.storage import StorageSystem
from penstock.plan.write.adapt import WriteAdvice
from penstock.units import GIB, KIB, MIB

LARGEST_BUFFER_BYTES = 64 * MIB


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The same advice for each layer that can act on it."""

    romio: dict[str, str]
    adios2: dict[str, str]
    adios1: str
    setstripe: str | None


def job_settings(system: StorageSystem, advice: WriteAdvice, extra: Mapping[str, str]) -> JobSettings:
    """Settings that make a collective layer write from the advised aggregators; `extra` hints win."""
    pattern = advice.pattern
    unit = _unit_bytes(system)
    romio = {
        "romio_cb_write": "enable",
        "cb_nodes": str(pattern.bursts),
        "cb_config_list": f"*:{pattern.cores}",
        "cb_buffer_size": str(_buffer_bytes(pattern.burst_bytes, unit)),
    }
    adios1 = f"num_aggregators={pattern.bursts}"
    setstripe = None
    if system.lustre is not None:
        romio |= {"striping_factor": str(pattern.stripes), "striping_unit": str(unit)}
        adios1 += f";num_ost={min(system.lustre.osts, pattern.stripes * pattern.bursts)}"
        setstripe = f"lfs setstripe -c {pattern.stripes} -S {_short(unit)} DIRECTORY"
    return JobSettings(romio | dict(extra), {"NumAggregators": str(pattern.bursts)}, adios1, setstripe)


def write_job_files(directory: Path, settings: JobSettings, advice: WriteAdvice) -> list[Path]:
    """Leave `romio_hints`, `adios2.xml`, `aggregators.txt` and `settings.sh` in a directory."""
    texts = {
        "romio_hints": hints_file(settings.romio),
        "adios2.xml": _adios2(settings),
        "aggregators.txt": "".join(f"{node}\n" for node in advice.pattern.locations),
        "settings.sh": _shell(settings),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, "utf-8")
    except OSError as error:
        raise refusal(Path(error.filename or directory), error) from None
    return [directory / name for name in texts]


def _unit_bytes(system: StorageSystem) -> int:
    if system.lustre is not None:
        return system.lustre.stripe_size
    return system.gpfs.block_size if system.gpfs is not None else MIB


def _buffer_bytes(burst_bytes: int, unit_bytes: int) -> int:
    """The part of a burst that one collective round should carry, in whole stripes or blocks."""
    most = max(unit_bytes, LARGEST_BUFFER_BYTES // unit_bytes * unit_bytes)
    return min(most, -(-burst_bytes // unit_bytes) * unit_bytes)


def _short(size_bytes: int) -> str:
    for letter, factor in (("G", GIB), ("M", MIB), ("K", KIB)):
        if size_bytes % factor == 0:
            return f"{size_bytes // factor}{letter}"
    return str(size_bytes)


def _adios2(settings: JobSettings) -> str:
    lines = "\n".join(
        f'      <parameter key="{key}" value="{value}"/>' for key, value in settings.adios2.items()
    )
    return (
        '<?xml version="1.0"?>\n<adios-config>\n  <io name="checkpoint">\n    <engine type="BP5">\n'
        f"{lines}\n    </engine>\n  </io>\n</adios-config>\n"
    )


def _shell(settings: JobSettings) -> str:
    lines = [
        "# Source this in the job script; DIRECTORY is where the job writes.",
        'export ROMIO_HINTS="$PWD/romio_hints"',
    ]
    if settings.setstripe:
        lines.append(settings.setstripe.replace("DIRECTORY", '"${DIRECTORY:?}"'))
    return "\n".join(lines) + "\n"
