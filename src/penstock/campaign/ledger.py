"""A campaign's directory: what it is, which shards are done, what each cost, and who runs it.

`campaign.json` says what the campaign is and never changes. `shards/KEY.parquet` is there once its shard is done.
`log.jsonl` has a line for every start, every finished and every failed shard; a torn last line is ignored.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.actuate.lock import holder
from penstock.campaign.spec import Specification
from penstock.errors import DataError, MissingError, PenstockError, refusal

MANIFEST, LOG, CANCEL = "campaign.json", "log.jsonl", "cancel"
# A campaign in which more than this share of the shards failed has failed.
MOST_FAILED = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a campaign is."""

    kind: str
    shards: int
    done: int
    failed: Mapping[str, str]
    rows: int
    #: CPU time of all finished shards so far, and what all shards will have cost at that rate.
    cpu_s: float
    cpu_s_expected: float | None
    #: At the speed of the run under way; None where nothing runs or nothing was finished yet.
    seconds_left: float | None
    runner: int | None

    @property
    def state(self) -> str:
        """One word for it."""
        if self.runner is not None:
            return "running"
        if self.done == self.shards:
            return "done"
        return "failed" if self.too_many_failed else "unfinished"

    @property
    def too_many_failed(self) -> bool:
        """Whether the campaign counts as failed."""
        return len(self.failed) > MOST_FAILED * self.shards


class CampaignLedger:
    """Reads and writes a campaign's directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def create(self, specification: Specification) -> None:
        """Make the directory, or go on in one that was made for the same work by the same program."""
        asked = specification.asked.model_dump(mode="json")
        keys = [shard.key for shard in specification.shards]
        about = {
            "kind": specification.section.kind,
            "program": specification.program,
            "asked": asked,
            "shards": keys,
        }
        path = self.directory / MANIFEST
        try:
            (self.directory / "shards").mkdir(parents=True, exist_ok=True)
            if not path.exists():
                temporary = path.with_suffix(".tmp")
                temporary.write_text(json.dumps(about), encoding="utf-8")
                temporary.replace(path)
                return
        except OSError as error:
            raise refusal(path, error) from None
        known = self._manifest()
        for part, why in (("program", "another version of penstock"), ("kind", "another kind of work")):
            if known[part] != about[part]:
                raise DataError(f"{self.directory}: made by {why}; name another `out`, or delete it")
        if known != about:
            raise DataError(
                f"{self.directory}: made for another specification; name another `out`, or delete it"
            )

    def finished(self, keys: Sequence[str]) -> set[str]:
        """Those whose files are there."""
        try:
            there = {entry.name for entry in os.scandir(self.directory / "shards")}
        except FileNotFoundError:
            return set()
        return {key for key in keys if f"{key}.parquet" in there}

    def note(self, **entry: Any) -> None:
        """Add a line to the log."""
        with (self.directory / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"t_s": time.time(), **entry}) + "\n")

    def standing(self) -> Standing:
        """How far it is, from the files alone."""
        about = self._manifest()
        keys = about["shards"]
        done = self.finished(keys)
        told: dict[str, dict[str, Any]] = {}
        started_s, since, last_s = 0.0, 0, 0.0
        for line in self._log():
            if "started" in line:
                started_s, since = line["t_s"], 0
            elif "key" in line:
                told[line["key"]] = line
                since, last_s = since + 1, line["t_s"]
        costs = [line["cpu_s"] for key, line in told.items() if key in done and "cpu_s" in line]
        failed = {key: line["error"] for key, line in told.items() if "error" in line and key not in done}
        runner = holder(self.directory)
        pace = (last_s - started_s) / since if since and runner is not None else None
        return Standing(
            about["kind"],
            len(keys),
            len(done),
            failed,
            sum(line.get("rows", 0) for key, line in told.items() if key in done),
            sum(costs),
            sum(costs) / len(costs) * len(keys) if costs else None,
            None if pace is None else pace * (len(keys) - len(done) - len(failed)),
            runner,
        )

    def digest(self) -> str:
        """A digest over the digests of all finished shards, in the campaign's order."""
        import hashlib

        from penstock.campaign.rowsfile import read_head

        keys = self._manifest()["shards"]
        done = self.finished(keys)
        mark = hashlib.sha256()
        for key in keys:
            if key in done:
                mark.update(f"{key} {read_head(self.directory / 'shards' / f'{key}.parquet')[0]}\n".encode())
        return mark.hexdigest()

    def ask_to_stop(self) -> int | None:
        """Tell whoever runs the campaign to stop; returns its process, None where nobody runs it."""
        self._manifest()
        runner = holder(self.directory)
        if runner is not None:
            (self.directory / CANCEL).touch()
        return runner

    def stop_is_asked(self) -> bool:
        """Whether somebody asked the runner to stop."""
        return (self.directory / CANCEL).exists()

    def forget_stop(self) -> None:
        """A new run begins, or the old one has stopped."""
        (self.directory / CANCEL).unlink(missing_ok=True)

    def _manifest(self) -> dict[str, Any]:
        path = self.directory / MANIFEST
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise MissingError(f"{self.directory}: no campaign there (no {MANIFEST})") from None
        except OSError as error:
            raise refusal(path, error) from None
        except ValueError:
            raise DataError(f"{path}: not JSON") from None
        if not {"kind", "program", "asked", "shards"} <= set(found):
            raise PenstockError(f"{path}: not a campaign's")
        return found

    def _log(self) -> list[dict[str, Any]]:
        path = self.directory / LOG
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # the last line of a run that was killed
        return found
