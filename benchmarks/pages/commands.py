"""Reference of the command line: one page a verb, from the commands themselves."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

import click
from benchmarks.pages.markdown import code, fence, page, prose, table

from penstock.cli.main import VERBS, cli
from penstock.errors import ExitCode


def pages() -> Mapping[str, str]:
    """The pages by their path below `reference/`."""
    root = click.Context(cli, info_name="penstock")
    found = {"cli/index.md": _index(root)}
    for verb in cli.list_commands(root):
        command = cli.get_command(root, verb)
        assert command is not None
        parts = [part for words, inner in walk(command, (verb,)) for part in _section(words, inner)]
        found[f"cli/{verb}.md"] = page(f"penstock {verb}", *parts[1:])
    return found


def walk(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, by the words that name them."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words[-1])
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walk(inner, (*words, name))


def _index(root: click.Context) -> str:
    rows = [(f"[`penstock {verb}`]({verb}.md)", text) for verb, (_, text) in VERBS.items()]
    codes = [(code(int(each)), each.name.lower().replace("_", " ")) for each in ExitCode]
    return page(
        "Command line",
        prose(cli.help),
        "Every verb that prints data takes `--json` (see [JSON formats](../json.md)). `-h` shows a command's help "
        "with an example.",
        table(("command", "what it does"), rows),
        "## Exit codes",
        table(("code", "meaning"), codes),
    )


def _section(words: tuple[str, ...], command: click.Command) -> list[str]:
    context = click.Context(command, info_name=" ".join(("penstock", *words)))
    usage = command.get_usage(context).removeprefix("Usage: ").replace("\n", " ")
    parts = [f"## penstock {' '.join(words)}", prose(command.help), fence(" ".join(usage.split()))]
    rows = [
        _row(parameter, context) for parameter in command.params if not getattr(parameter, "hidden", False)
    ]
    if rows:
        parts.append(table(("option", "default", "meaning"), rows))
    example = _example(command)
    return parts + (["Example:", fence(example, "sh")] if example else [])


def _example(command: click.Command) -> str:
    """The command of the epilogue, which a test pastes into a shell."""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    found = [line.removeprefix("Example: ") for line in lines if "penstock " in line]
    return found[0] if found else ""


def _row(parameter: click.Parameter, context: click.Context) -> tuple[str, str, str]:
    if isinstance(parameter, click.Option):
        names = ", ".join(code(name) for name in (*parameter.opts, *parameter.secondary_opts))
        metavar = "" if parameter.is_flag else _metavar(parameter, context)
        return f"{names}{metavar}", _default(parameter), parameter.help or ""
    return code(parameter.make_metavar(context)), "", "needed" if parameter.required else "may be left out"


def _metavar(parameter: click.Option, context: click.Context) -> str:
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return " " + ", ".join(code(_word(each)) for each in choices)
    return f" {code(parameter.make_metavar(context))}"


def _default(parameter: click.Option) -> str:
    default = parameter.default
    if parameter.required:
        return "needed"
    known = not callable(default) and type(default).__name__ not in ("Sentinel", "NoneType")
    if not known or default in (False, (), ""):
        return ""
    return code(" ".join(map(str, default)) if isinstance(default, tuple | list) else _word(default))


def _word(value: object) -> str:
    return str(value.value if isinstance(value, enum.Enum) else value)
