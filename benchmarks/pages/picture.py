"""Makes the picture of README: the demonstration's own report, as a browser shows it.

usage: python -m benchmarks.pages.picture [--out docs/images/demo.png]

Needs chromium (Debian: apt-get install chromium). Runs `penstock demo` with its default seed, so that equal versions
give equal pictures.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.pages.stage import DOCS

WIDTH, HEIGHT = 1100, 640


def take(page: Path, picture: Path, size: tuple[int, int] = (WIDTH, HEIGHT)) -> None:
    """The first screen of a page; raises where there is no browser."""
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("picture: needs chromium (Debian: apt-get install chromium)")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={size[0]},{size[1]}",
    ]
    command = [browser, *options, f"--screenshot={picture}", page.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=DOCS / "images" / "demo.png")
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="penstock-picture-") as place:
        page = Path(place) / "demo.html"
        command = [sys.executable, "-m", "penstock", "demo", "--out", str(page)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        take(page, asked.out)
    print(asked.out)


if __name__ == "__main__":
    main()
