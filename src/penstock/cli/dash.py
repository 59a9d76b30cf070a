"""`penstock dash`: the web page for an agent, its log, a recording or the simulator."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import prepare_simulator, require_libraries, state_dir_option
from penstock.errors import UsageError
from penstock.input_files import read_text

if TYPE_CHECKING:
    from penstock.dash.source import Source

PATH = click.Path(path_type=Path)
LEAST_TOKEN, MOST_TOKEN_BYTES = 16, 4096


@click.command(epilog="Example: penstock dash --simulate")
@click.option("--simulate", is_flag=True, help="Open it over the simulator: choose, disturb, compare.")
@click.option("--recording", "recordings", type=PATH, multiple=True, help="Open it over a recording; repeat.")
@state_dir_option
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on; there is no encryption."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any free one."
)
@click.option("--name", "names", multiple=True, help="Another host name it is opened under; repeat.")
@click.option(
    "--control", is_flag=True, help="Let whoever has the token change the agent's mode, or pause it."
)
@click.option("--token-file", type=PATH, help="Take the token from this file instead of drawing one.")
def dash(
    simulate: bool,
    recordings: Sequence[Path],
    state_dir: Path,
    host: str,
    port: int,
    names: Sequence[str],
    control: bool,
    token_file: Path | None,
) -> None:
    """Show in a browser what tuning does here, and why.

    It only shows, unless --control is given. The agent is asked only while the page is open somewhere. The address
    is printed on stdout, with a token: on 127.0.0.1 too, because every user of this machine can connect there.
    Ctrl-C ends it.
    """
    require_libraries("dash", "starlette", "uvicorn")
    from penstock.dash.gate import Gate
    from penstock.dash.serving import listen, serve

    # The simulator is there to be changed. Of a node nothing is changed without --control, whoever has the token.
    control = control or simulate
    token = _token(token_file)
    source = _source(simulate, recordings, state_dir)
    listener = listen(host, port)
    gate = Gate(host, listener.getsockname()[1], token, tuple(names), control)
    shown = f"[{host}]" if ":" in host else host

    def ready() -> None:
        sys.stdout.write(f"http://{shown}:{gate.port}/#token={token}\n")
        sys.stdout.flush()
        click.echo(f"penstock: {source.about.title}; open the address above, Ctrl-C ends it", err=True)

    serve(source, gate, listener, ready)


def _source(simulate: bool, recordings: Sequence[Path], state_dir: Path) -> Source:
    if simulate and recordings:
        raise UsageError("--simulate and --recording exclude each other")
    if recordings:
        from penstock.dash.recordings import RecordingSource

        return RecordingSource(recordings)
    if simulate:
        prepare_simulator()
        from penstock.dash.simulator import SimulatorSource

        return SimulatorSource()
    from penstock.dash.node import NodeSource

    return NodeSource(state_dir)


def _token(path: Path | None) -> str:
    if path is None:
        return secrets.token_urlsafe(24)
    text = read_text(path, MOST_TOKEN_BYTES, UsageError).strip()
    if len(text) < LEAST_TOKEN or not (text.isascii() and text.isprintable()) or " " in text:
        raise UsageError(f"{path}: a token is one word of at least {LEAST_TOKEN} characters")
    return text
