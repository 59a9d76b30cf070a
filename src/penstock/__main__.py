"""The entry point: `penstock`, and `python -m penstock`."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line. An agent answers a stop from here on, before the imports that take longest."""
    if sys.argv[1:3] == ["agent", "run"]:
        from penstock.stopping import STOP

        STOP.install()
    from penstock.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
