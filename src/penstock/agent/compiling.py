"""Compiles inference in the background. Until that is done numpy answers, so no interval waits.

Compiling pays only on nodes with many targets. On other nodes it is done only if the configuration asks for it.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

from penstock.agent.settings import Compile
from penstock.ports import Predictor
from penstock.predict.model import ForestPredictor
from penstock.predict.trees import has_numba
from penstock.threads import try_to_start

log = logging.getLogger(__name__)

FEWEST_TARGETS = 64
DIRECTORY = "compiled"


def walks_compiled(predictor: Predictor | None) -> bool:
    """Whether compiled code answers now."""
    return isinstance(predictor, ForestPredictor) and predictor.compiled_walk


def walk_compiled(predictor: Predictor | None, wanted: bool) -> bool:
    """Answer with compiled code or without from now on; false where the former is not possible here."""
    if isinstance(predictor, ForestPredictor):
        predictor.compiled_walk = wanted and has_numba()
        return predictor.compiled_walk == wanted
    return not wanted


class Compiling:
    """Decides whether to compile, compiles once in a separate thread, and then switches the predictor over."""

    def __init__(self, predictor: Predictor | None, wish: Compile, state_dir: Path) -> None:
        self._predictor = predictor if isinstance(predictor, ForestPredictor) else None
        self._wish, self._state_dir = wish, state_dir
        self._thread: threading.Thread | None = None
        self._ready = False
        if self._predictor is not None:
            self._predictor.compiled_walk = False

    def consider(self, targets: int) -> None:
        """Start compiling when there are targets enough for it to pay; asked after every look.

        The switch is made here, between two looks: both ways differ in the last digit, and a replay must know which
        one an interval was decided with.
        """
        if self._ready and self._predictor is not None:
            self._predictor.compiled_walk = True
        if self._predictor is None or self._thread is not None or self._wish is Compile.NEVER:
            return
        if targets < FEWEST_TARGETS and self._wish is not Compile.ALWAYS:
            return
        thread = threading.Thread(target=self._compile, name="penstock-compile", daemon=True)
        self._thread = thread if try_to_start(thread) else None

    def _compile(self) -> None:
        from penstock.agent.footprint import page_out_compiler

        # systemd names the unit's own cache directory. Without one the state directory is as safe.
        home = os.environ.get("CACHE_DIRECTORY") or str(self._state_dir / DIRECTORY)
        os.environ.setdefault("NUMBA_CACHE_DIR", home)
        try:
            if self._predictor is None or not self._predictor.compile():
                return
        except Exception as error:  # noqa: BLE001 - the agent does as well without
            log.warning("compiled inference is not used: %s: %s", type(error).__name__, error)
            return
        self._ready = True
        page_out_compiler()
        log.info("compiled inference is in use")
