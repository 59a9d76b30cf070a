"""The directory of a campaign: its definition, its finished shards, their cost, and the process that runs it.

- `campaign.json` defines the campaign and never changes.
- `shards/KEY.parquet` exists once that shard is done.
- `log.jsonl` has one line for each start and for each finished or failed shard. An incomplete last line is ignored.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.actuate.lock import holder
from penstock.campaign.jsonlines import append_line, read_lines
from penstock.campaign.shards import Kept, ShardFailedError
from penstock.campaign.spec import Specification
from penstock.errors import DataError, MissingError, PenstockError, refusal
from penstock.output_files import replace_file

MANIFEST, LOG, CANCEL = "campaign.json", "log.jsonl", "cancel"
# A campaign fails if more than this share of its shards failed.
MOST_FAILED = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of a campaign."""

    kind: str
    shards: int
    done: int
    failed: Mapping[str, str]
    rows: int
    #: CPU time of the finished shards so far, and the estimate for all shards.
    cpu_s: float
    cpu_s_expected: float | None
    #: Estimated from the current run's speed. None if no run is active or no shard is finished yet.
    seconds_left: float | None
    runner: int | None

    @property
    def state(self) -> str:
        """The state in one word."""
        if self.runner is not None:
            return "running"
        if self.done == self.shards:
            return "done"
        return "failed" if self.too_many_failed else "unfinished"

    @property
    def too_many_failed(self) -> bool:
        """Whether so many shards failed that the campaign fails."""
        return len(self.failed) > MOST_FAILED * self.shards


class CampaignLedger(Kept[str, str]):
    """Reads and writes the directory of a campaign."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: The shards that failed in this run, and why.
        self.failures: list[str] = []

    def create(self, specification: Specification) -> None:
        """Create the directory, or continue in one made for the same work by the same program version."""
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
                replace_file(path, json.dumps(about))
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

    def finished(self, keys: Iterable[str]) -> set[str]:
        """The keys of the shards that have a result file."""
        try:
            there = {entry.name for entry in os.scandir(self.directory / "shards")}
        except FileNotFoundError:
            return set()
        return {key for key in keys if f"{key}.parquet" in there}

    def note(self, **entry: Any) -> None:
        """Append a line to the log."""
        append_line(self.directory / LOG, {"t_s": time.time(), **entry})

    def keep(self, key: str, task: str, result: str) -> None:
        """Note what a finished shard cost. Its worker has written the rows."""
        self.note(**json.loads(result))

    def failed(self, key: str, failure: ShardFailedError) -> None:
        """Note why a shard failed; the next run tries it again."""
        self.failures.append(f"{key}: {failure}")
        self.note(key=key, error=str(failure))

    def standing(self) -> Standing:
        """The progress, computed from the files alone."""
        about = self._manifest()
        keys = about["shards"]
        done = self.finished(keys)
        told: dict[str, dict[str, Any]] = {}
        started_s, since, last_s = 0.0, 0, 0.0
        for _, line in read_lines(self.directory / LOG):
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
        """A digest over the digests of all finished shards, in the order of the campaign."""
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
        """Ask the running process to stop. Returns its process id, or None if nothing runs."""
        self._manifest()
        runner = holder(self.directory)
        if runner is not None:
            (self.directory / CANCEL).touch()
        return runner

    def stop_is_asked(self) -> bool:
        """Whether the run was asked to stop."""
        return (self.directory / CANCEL).exists()

    def forget_stop(self) -> None:
        """Withdraw a request to stop, because a new run begins or the old one has stopped."""
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
