"""The settings that sequences are compared with: the best single one, and each phase's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.evaluate.ceilings import Climb, Place, climb, course_of, starts
from penstock.evaluate.lab import Lab
from penstock.evaluate.phases import Phases
from penstock.evaluate.request import Request
from penstock.evaluate.search import CHOICE_SEED
from penstock.evaluate.trial import Trial
from penstock.knobs import Setting
from penstock.simulate.simulation import client_space
from penstock.workload import parse_workload

#: Runs of a search last no longer than this, or each phase of them if it goes through a sequence.
SEARCH_S = 30.0
SINGLE_S = 15.0


@dataclass(frozen=True, slots=True)
class PhaseChoice:
    """What a sequence is held at: one setting throughout, or one for each phase.

    `alone` is what serves each phase's workload best when nothing ran before it.
    """

    single: Setting
    own: tuple[Setting, ...]
    alone: tuple[Setting, ...]


def search(lab: Lab, request: Request, sequences: Mapping[str, Phases]) -> dict[str, PhaseChoice]:
    """The settings of every sequence, chosen on another seed.

    Each workload's setting is searched for alone. Then the whole sequence is run with those, with the best single
    setting and with the default, and every phase keeps what served it best there.
    """
    alone = _alone(lab, request, sequences)
    single = {
        name: chosen[0]
        for name, chosen in climb(
            lab, {name: _whole(request, phases, SINGLE_S, alone) for name, phases in sequences.items()}
        ).items()
    }
    default = client_space(request.cluster).default
    tries = {
        name: [
            tuple(alone[work] for work in phases.names),
            (single[name],) * len(phases.names),
            (default,) * len(phases.names),
        ]
        for name, phases in sequences.items()
    }
    rates = _together(lab, request, sequences, tries)
    return {
        name: PhaseChoice(single[name], _best(tries[name], rates[name]), tries[name][0]) for name in sequences
    }


def _alone(lab: Lab, request: Request, sequences: Mapping[str, Phases]) -> dict[str, Setting]:
    works = dict.fromkeys(work for phases in sequences.values() for work in phases.workloads)
    every_s = min(SEARCH_S, request.seconds)
    searches = {
        work: Climb(
            Phases(request.cluster, (work,), 1, every_s).plan(request.seed),
            (Place(writes=parse_workload(work).direction == "write"),),
            starts(request.cluster, 1),
            course_of(every_s),
        )
        for work in works
    }
    return {work: chosen[0] for work, chosen in climb(lab, searches).items()}


def _whole(request: Request, phases: Phases, most_s: float, alone: Mapping[str, Setting]) -> Climb:
    """The search for one setting, over the whole sequence with shorter phases."""
    short = phases.shorter(most_s)
    writes = any(parse_workload(work).direction == "write" for work in phases.workloads)
    begin = starts(request.cluster, 1, [alone[work] for work in phases.workloads])
    return Climb(short.plan(request.seed), (Place(writes=writes),), begin, course_of(short.seconds))


def _together(
    lab: Lab,
    request: Request,
    sequences: Mapping[str, Phases],
    tries: Mapping[str, Sequence[tuple[Setting, ...]]],
) -> dict[str, list[list[float]]]:
    """The rate of every phase under every one of the given choices, in the whole sequence."""
    wanted = [(name, at) for name in sequences for at in range(len(tries[name]))]
    shorts = {name: phases.shorter(SEARCH_S) for name, phases in sequences.items()}
    trials = []
    for name, at in wanted:
        short, own = shorts[name], tries[name][at]
        course = replace(course_of(short.seconds), switches=short.switches(own[: len(short.names)]))
        trials.append(Trial(short.plan(request.seed + CHOICE_SEED), course))
    found = lab.measure("search, whole sequences", trials)
    rates: dict[str, list[list[float]]] = {name: [] for name in sequences}
    for (name, _), run in zip(wanted, found, strict=True):
        rates[name].append(shorts[name].rates(run))
    return rates


def _best(tries: Sequence[tuple[Setting, ...]], rates: Sequence[Sequence[float]]) -> tuple[Setting, ...]:
    """For every phase the setting that brought most. Phases of later turns do as in the first."""
    chosen = []
    for at in range(len(tries[0])):
        of_phase = [each[at % len(each)] for each in rates]
        chosen.append(tries[of_phase.index(max(of_phase))][at])
    return tuple(chosen)
