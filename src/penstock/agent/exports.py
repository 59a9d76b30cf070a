"""Starts the metrics exports that the configuration names, each in a separate thread."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.agent.filesystems import tuned_type
from penstock.agent.settings import MetricsSection
from penstock.errors import ConfigError
from penstock.serve.rendered import Rendered
from penstock.serve.status import AgentStatus

if TYPE_CHECKING:
    from penstock.serve.exposition import MetricsFile, MetricsPage


class Exports:
    """The metrics exports of one agent. They are closed with it."""

    def __init__(self, settings: MetricsSection, status: Callable[[], AgentStatus], period_s: float) -> None:
        self._status, self._period_s = status, period_s
        self._open: list[MetricsPage | MetricsFile] = []
        self.port: int | None = None
        if settings.listen or settings.textfile:
            self._start(settings)

    def staff(self) -> None:
        """Start the threads that could not be had before."""
        for way_out in self._open:
            way_out.staff()

    def close(self) -> None:
        """Close all of them, whatever one of them says."""
        ways, self._open = self._open, []
        with contextlib.ExitStack() as stack:
            for way_out in ways:
                stack.callback(way_out.close)

    def _start(self, settings: MetricsSection) -> None:
        from penstock.serve.exposition import MetricsFile, MetricsPage
        from penstock.serve.metrics import AgentCollector, registry, text

        own = registry(AgentCollector(self._status, per_target=settings.per_target))
        rendered = Rendered(lambda: text(own), self._period_s)
        if settings.textfile:
            path = Path(settings.textfile)
            _refuse_tuned(path)
            self._open.append(MetricsFile(path, settings.textfile_period_s, rendered))
        if settings.listen:
            page = MetricsPage(settings.address, rendered)
            self.port = page.port
            self._open.append(page)


def _refuse_tuned(path: Path) -> None:
    try:
        kind = tuned_type(path.parent)
    except OSError:
        return
    if kind:
        raise ConfigError(f"metrics.textfile {path}: on a {kind} file system, which the agent tunes")
