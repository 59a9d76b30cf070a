"""Carries out a switchback trial: turns a running agent's tuning on and off and measures the node."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from penstock.agent.control import TIMEOUT_S, request
from penstock.agent.filesystems import open_observer
from penstock.agent.startup import SOCKET_FILE
from penstock.agent.switchback import Verdict
from penstock.window import Window, windows

SETTLE_RATIO = 0.1
PROBE_S = 1.0


def forget_verdict(state_dir: Path) -> dict[str, Any] | None:
    """Let the running agent drop the verdict of its last trial. Returns it, or None if there was none."""
    found: dict[str, Any] | None = request(state_dir / SOCKET_FILE, "trial", TIMEOUT_S, forget=True)[
        "forgotten"
    ]
    return found


class SwitchbackTrial:
    """Turns tuning on and off. The agent gets its former mode back, however the trial ends."""

    def __init__(self, state_dir: Path) -> None:
        self._socket = state_dir / SOCKET_FILE
        status = request(self._socket, "status")
        self._mode = str(status["mode"])
        # The agent's own root, because counters of another client would be meaningless.
        self._observer = open_observer(Path(status["root"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._observer.close()
        request(self._socket, "mode", mode=self._mode)
        request(self._socket, "resume")

    def report(self, verdict: Verdict) -> None:
        """Give the agent a verdict to keep. A verdict without an interval is not kept."""
        if verdict.gain is not None:
            figures = {"gain": verdict.gain, "low": verdict.low, "high": verdict.high}
            request(self._socket, "trial", TIMEOUT_S, pairs=verdict.pairs, **figures)

    def switch(self, tuned: bool) -> None:
        """On: tune. Off: restore all originals and change nothing."""
        if tuned:
            request(self._socket, "resume")
            request(self._socket, "mode", mode="tune")
        else:
            request(self._socket, "restore")

    def measure(self, seconds: float) -> float:
        """Bytes per second over a block without its first tenth, which still shows the block before."""
        time.sleep(seconds * SETTLE_RATIO)
        end_s = time.monotonic() + seconds * (1 - SETTLE_RATIO)
        before, moved, measured_s = self._observer.observe(), 0.0, 0.0
        while (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(PROBE_S, left_s))
            after = self._observer.observe()
            seen = [window for window in windows(before, after) if isinstance(window, Window)]
            moved += sum(window.moved_per_s * window.seconds for window in seen)
            measured_s += after.t_s - before.t_s
            before = after
        return moved / measured_s if measured_s > 0 else 0.0
