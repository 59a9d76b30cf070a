"""What one pass over a client's targets costs in CPU time: 1,008 OSCs, every one of them busy.

Plain files in the layout of a 2.15 client, made from the project's own capture; between passes every OSC's
counters, dirty bytes and import text change, as they do on a client under load. Beside it, what the `lctl`
command costs according to the captures: one process start per call.

    ./run bench observe [--oscs 126 252 504 1008] [--passes 20] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.plain_tree import CAPTURE, Tree

from penstock.observe.collector import LustreObserver
from penstock.window import Window, windows

BUDGET_MS = 40.0
BUDGET_OSCS = 1008


def measure(oscs: int, passes: int) -> dict[str, float]:
    """CPU milliseconds of a pass and of the windows made of it, over several passes."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(Path(directory), oscs)
        observer = LustreObserver(directory)
        before = observer.observe()
        read_ms, window_ms = [], []
        for _ in range(passes):
            tree.move_on()
            start_s = time.process_time()
            after = observer.observe()
            between_s = time.process_time()
            found = windows(before, after)
            end_s = time.process_time()
            if len(found) != oscs or not all(
                isinstance(w, Window) and w.metrics["read.bytes"] for w in found
            ):
                sys.exit(f"observe: a pass over {oscs} busy OSCs gave {len(found)} windows or idle ones")
            read_ms.append(1e3 * (between_s - start_s))
            window_ms.append(1e3 * (end_s - between_s))
            before = after
        observer.close()
    return {
        "oscs": oscs,
        "pass_ms": statistics.median(read_ms),
        "pass_ms_min": min(read_ms),
        "us_per_osc": 1e3 * statistics.median(read_ms) / oscs,
        "windows_ms": statistics.median(window_ms),
    }


def lctl_ms_per_osc() -> float | None:
    """The median time of one `lctl set_param` call on one OSC, less that of the same write done directly."""
    log = CAPTURE / "actuation" / "set-times.json"
    if not log.is_file():
        return None
    times = json.loads(log.read_text())
    return 1e3 * float(statistics.median(times["lctl_s"]) - statistics.median(times["raw_s"]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--oscs", type=int, nargs="+", default=[126, 252, 504, 1008])
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(oscs, options.passes) for oscs in options.oscs]
    document = {"budget_ms": BUDGET_MS, "rows": rows, "lctl_ms_per_osc": lctl_ms_per_osc()}
    if options.json:
        print(json.dumps(document, indent=2))
        return
    print(f"{'OSCs':>6} {'pass ms':>9} {'best':>8} {'us/OSC':>8} {'windows ms':>11}")
    for row in rows:
        print(
            f"{row['oscs']:6.0f} {row['pass_ms']:9.2f} {row['pass_ms_min']:8.2f} {row['us_per_osc']:8.1f}"
            f" {row['windows_ms']:11.2f}"
        )
    print(f"budget: {BUDGET_MS:g} ms of CPU for {BUDGET_OSCS} OSCs")
    if document["lctl_ms_per_osc"] is not None:
        print(
            f"lctl, as captured (emulated CPU): {document['lctl_ms_per_osc']:.0f} ms a call, a call per OSC"
        )


if __name__ == "__main__":
    main()
