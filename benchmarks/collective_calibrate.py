"""Calibrates the Blue Gene/Q of `plan collective --model bgq` to the paper's counts, and prints it."""

from __future__ import annotations

import argparse

from benchmarks.collective_study import calibrate


def main() -> None:
    parser = argparse.ArgumentParser(
        description=calibrate.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tries", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    lost, machine = calibrate.search(given.tries, given.seed)
    print(f"distance from the paper's counts: {lost:.2f}")
    print(machine)
    calibrate.show(machine)


if __name__ == "__main__":
    main()
