"""The marks of policies as this program runs them, kept in the user's cache so that traces are run once a version."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from penstock.agent.plugins import is_foreign
from penstock.campaign.program import version
from penstock.evaluate.drivers import Course
from penstock.evaluate.policy_traces import traced_mark
from penstock.output_files import replace_file

FILE = "marks.json"
#: All that can change what a policy does. A file that differs costs a run of the traces, not the stored results.
SOURCES = (
    "agent/loop.py", "agent/space_book.py", "agent/plugins.py", "decide", "decision.py", "evaluate", "knobs",
    "predict", "ratios.py", "simulate", "snapshot.py", "spaces.py", "units.py", "window.py", "workload.py",
)  # fmt: skip


class Marks:
    """Marks by policy, guard and model. What was found with other sources is not used."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._program = version(*SOURCES)
        self._known = self._read()

    def find(self, course: Course) -> str:
        """The mark of what drives a course. A policy that is not built in may import anything: it is traced anew
        by every process.
        """
        key = _key(course)
        if key not in self._known:
            self._known[key] = traced_mark(course)
            if course.policy is None or not is_foreign(course.policy):
                self._keep(key)
        return self._known[key]

    def _read(self) -> dict[str, str]:
        try:
            document: Any = json.loads(self._path.read_text(encoding="utf-8"))
            return dict(document["marks"]) if document["program"] == self._program else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _keep(self, key: str) -> None:
        marks = {**self._read(), key: self._known[key]}
        replace_file(self._path, json.dumps({"program": self._program, "marks": marks}) + "\n")


def _key(course: Course) -> str:
    model = hashlib.sha256(Path(course.model).read_bytes()).hexdigest()[:16] if course.model else ""
    return json.dumps([course.policy, course.guard, model])
