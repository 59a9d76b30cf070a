"""Reference of the Python API: the public names, and the suites for plug-ins, from their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType

from benchmarks.pages.markdown import code, fence, page, prose

import penstock
from penstock import ports, ratios
from penstock.testing import actuators, observers, policies, predictors

LEAD = """\
`from penstock import NAME` works for every name under *Public names*; `dir(penstock)` lists them, and they stay
stable. Everything else is reachable but may change. Types are checked (`py.typed`)."""


def text() -> str:
    """The page."""
    parts = [LEAD, "## Public names"]
    for name in penstock.__all__:
        if not name.startswith("__"):
            parts += _class(name, getattr(penstock, name))
    parts += ["## Ports", prose(ports.__doc__)]
    for name, kind in _own_classes(ports):
        parts += _class(name, kind)
    parts += ["## Ratios of a window", prose(ratios.__doc__), *_functions(ratios)]
    parts.append("## Suites for plug-ins")
    for module in (policies, predictors, observers, actuators):
        parts += [f"### {code(module.__name__)}", prose(module.__doc__), *_functions(module)]
    return page("Python API", *parts)


def _own_classes(module: ModuleType) -> Iterator[tuple[str, type]]:
    for name, kind in vars(module).items():
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and not name.startswith("_"):
            yield name, kind


def _class(name: str, kind: type) -> list[str]:
    parts = [
        f"### {code(name)}",
        fence(f"{_home(name, kind)}.{name}{_signature(kind)}", "python"),
        prose(kind.__doc__),
    ]
    for member, value in vars(kind).items():
        if member.startswith("_"):
            continue
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and function.__doc__:
            signature = "" if isinstance(value, property) else _signature(function)
            parts.append(_item(f"{member}{signature}", function))
    return parts


def _item(signature: str, function: FunctionType) -> str:
    """An entry of a list; its later paragraphs belong to it."""
    return f"- {code(signature)}: {prose(function.__doc__)}".replace("\n", "\n    ")


def _home(name: str, kind: type) -> str:
    return "penstock" if name in penstock.__all__ else kind.__module__


def _functions(module: ModuleType) -> list[str]:
    return [
        _item(f"{name}{_signature(function)}", function)
        for name, function in vars(module).items()
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and function.__doc__
    ]


def _signature(thing: object) -> str:
    try:
        signature = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    # Annotations are texts: they are shown without their quotes, defaults with theirs.
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(signature.replace(parameters=parameters)))
