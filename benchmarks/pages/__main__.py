"""Builds the documentation site, without a network.

usage: ./run docs [--out DIR] [--serve PORT] [--run PAGE...]

Leaves the site in build/documentation/site and fails on links that lead nowhere. Its pages open as files; search
needs a server, which --serve is, on loopback only. --run runs the marked command blocks of pages (paths, or names
without .md; `all` for all) instead.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.pages import blocks
from benchmarks.pages.links import project_problems, site_problems
from benchmarks.pages.stage import ROOT, made_pages, stage

OUT = ROOT / "build" / "documentation"


def build(place: Path) -> Path:
    """The site, built below `place`; raises where the generator warns."""
    stage(place, made_pages())
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(
        command, cwd=place, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )
    if done.returncode:
        sys.exit(f"docs: the generator failed\n{done.stdout}{done.stderr}")
    return place / "site"


def check(site: Path) -> int:
    """Say which links lead nowhere."""
    problems = [*project_problems(), *site_problems(site)]
    for problem in problems:
        print(f"docs: {problem}", file=sys.stderr)
    return 1 if problems else 0


def serve(site: Path, port: int) -> None:
    """Show the site to browsers of this machine until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server,
        contextlib.suppress(KeyboardInterrupt),
    ):
        print(f"http://127.0.0.1:{server.server_port}/")
        server.serve_forever()


def run_pages(names: list[str]) -> int:
    """Run the marked blocks of pages and show what went wrong."""
    failed = 0
    for page in blocks.runnable_pages():
        if names != ["all"] and page.stem not in names and str(page) not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="penstock-docs-") as place:
            done = blocks.run(page, Path(place))
        print(
            f"docs: {page.relative_to(ROOT)}: {'ran' if done.returncode == 0 else done.stdout}",
            file=sys.stderr,
        )
        failed += done.returncode != 0
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./run docs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--serve", type=int, metavar="PORT")
    parser.add_argument("--run", nargs="+", metavar="PAGE")
    asked = parser.parse_args()
    if asked.run:
        return run_pages(asked.run)
    site = build(asked.out.resolve())
    print(site / "index.html")
    found = check(site)
    if asked.serve is not None:
        serve(site, asked.serve)
    return found


if __name__ == "__main__":
    sys.exit(main())
