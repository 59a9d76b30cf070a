"""The answer for a job: the advice with resource names, commands and the number of other jobs, as JSON and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from penstock.errors import DataError
from penstock.schedule.advice import Advice
from penstock.schedule.certainty import Certainty
from penstock.schedule.command import Commands
from penstock.schedule.resource_use import Option


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. `names` are those of its resources, `running_jobs` counts the jobs it shares them with."""

    advice: Advice
    names: tuple[str, ...]
    running_jobs: int
    commands: Commands

    def document(self) -> dict[str, Any]:
        """What `schedule advise --json` prints."""
        return asdict(self.advice) | {
            "options": [option._asdict() for option in self.advice.options],
            "count": len(self.advice.resources),
            "names": list(self.names),
            "running_jobs": self.running_jobs,
            "commands": asdict(self.commands),
        }


def answer_text(answer: Answer) -> str:
    """The answer as one line of JSON."""
    return json.dumps(answer.document())


def parse_answer(text: str) -> Answer:
    """The answer that `answer_text` wrote."""
    try:
        plain = json.loads(text)
        options = tuple(Option(**option) for option in plain.pop("options"))
        commands = _commands(plain.pop("commands"))
        names, running_jobs = tuple(plain.pop("names")), plain.pop("running_jobs")
        plain.pop("count")
        resources = tuple(plain.pop("resources"))
        certainty = plain.pop("certainty")
        sure = Certainty(**certainty) if certainty else None
        # A later version may add keys; answers of an earlier one lack some.
        known = {one.name for one in fields(Advice)}
        rest = {key: value for key, value in plain.items() if key in known}
        if "missing" in rest:
            rest["missing"] = tuple(rest["missing"])
        advice = Advice(resources=resources, options=options, certainty=sure, **rest)
        return Answer(advice, names, running_jobs, commands)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"the ledger holds an answer that cannot be read: {error}") from None


def _commands(plain: dict[str, Any]) -> Commands:
    pool = plain.pop("pool")
    return Commands(pool=pool, **{key: tuple(lines) for key, lines in plain.items()})
