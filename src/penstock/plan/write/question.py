"""One question about a write, from the user's input to the complete answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.errors import UsageError
from penstock.plan.hints import parse_hints
from penstock.plan.storage import StorageSystem, load_system, restripe
from penstock.plan.write.adapt import WriteAdvice, adapt
from penstock.plan.write.checkpoint import Checkpointing, checkpointing, parse_share
from penstock.plan.write.jobscript import JobSettings, job_settings
from penstock.plan.write.location import locate
from penstock.plan.write.parameters import require_lustre
from penstock.plan.write.pattern import WritePattern, check_pattern
from penstock.plan.write.prediction import WriteModel, WritePrediction
from penstock.plan.write.published import published_model


@dataclass(frozen=True, slots=True)
class WriteQuestion:
    """What a user asks: a pattern, the system and model to ask, and what to derive from the answer."""

    system: str | None
    nodes: int
    cores: int
    burst: int
    transfer: int | None = None
    stripes: int | None = None
    stripe_size: int | None = None
    locations: str = "scattered"
    model: str = "published"
    operation: str | None = None
    adapt: bool = False
    observed: float | None = None
    budget: str | None = None
    job_dir: Path | None = None
    hint: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.adapt and (self.job_dir is not None or self.hint):
            raise UsageError("--job-dir and --hint need --adapt: there is no advice to write down")
        if self.observed is not None and self.observed <= 0:
            raise UsageError(f"--observed {self.observed:g} is not a positive time")
        if self.operation == "read" and self.model == "published":
            raise UsageError("--operation read: the published models are of writes; name --model FILE")
        if self.operation == "read" and (self.adapt or self.budget is not None):
            raise UsageError("--operation read: --adapt and --budget are about writes")


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """Everything there is to say about one pattern; only the prediction where that is refused."""

    operation: str
    system: StorageSystem
    prediction: WritePrediction
    advice: WriteAdvice | None
    checkpoint: Checkpointing | None
    settings: JobSettings | None


def answer(question: WriteQuestion) -> WriteAnswer:
    """Predict the write; advise and settle a checkpoint interval where asked."""
    share = None if question.budget is None else parse_share(question.budget)
    extra = parse_hints(question.hint)
    system, model = _system_and_model(question)
    pattern = _pattern(question, system)
    prediction = model.predict(system, pattern)
    operation = _operation(question, model)
    if prediction.refused is not None:
        return WriteAnswer(operation, system, prediction, None, None, None)
    advice = adapt(model, system, pattern, question.observed) if question.adapt else None
    seconds = prediction.seconds if question.observed is None else question.observed
    return WriteAnswer(
        operation,
        system,
        prediction,
        advice,
        None if share is None else checkpointing(seconds, share),
        None if advice is None else job_settings(system, advice, extra),
    )


def _system_and_model(question: WriteQuestion) -> tuple[StorageSystem, WriteModel]:
    system = None if question.system is None else load_system(question.system)
    model: WriteModel
    if question.model == "published":
        if system is None:
            raise UsageError("--system is missing: cetus, titan or FILE.toml")
        model = published_model(system)
    else:
        from penstock.plan.write.stored_model import load_model

        model = fitted = load_model(Path(question.model))
        trained = fitted.samples.system
        if system is not None and system.name != trained.name:
            raise UsageError(
                f"--system {question.system}: {fitted.name} was fitted on {_called(trained)} and knows nothing of "
                f"{_called(system)}; leave --system out, or fit a model with plan fit --system {question.system}"
            )
        system = system or trained
    if question.stripe_size is not None:
        system = restripe(system, question.stripe_size)
    return system, model


def _called(system: StorageSystem) -> str:
    return system.title or system.name


def _operation(question: WriteQuestion, model: WriteModel) -> str:
    """What the model was fitted on, which must be what is asked."""
    if question.operation not in {None, model.operation}:
        raise UsageError(
            f"--operation {question.operation}: {model.name} was fitted on {model.operation}s; "
            f"fit one with plan fit --operation {question.operation}"
        )
    return model.operation


def _pattern(question: WriteQuestion, system: StorageSystem) -> WritePattern:
    stripes = require_lustre(system, question.stripes)
    places = locate(system, question.nodes, question.locations)
    pattern = WritePattern(places, question.cores, question.burst, stripes, question.transfer)
    check_pattern(system, pattern)
    return pattern
