"""Runs shards on dask.distributed: on an existing scheduler, on one of our own on this machine, or in Slurm jobs.

Dask queues tasks, retries them and notices dead workers. We send only a function name and JSON texts through it. Dask
itself uses pickle, so anyone who can reach a scheduler can run code. Schedulers therefore listen on loopback only, or
use TLS.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from penstock.campaign.shards import ShardFailedError, Tick
from penstock.campaign.spec import SlurmSection
from penstock.errors import PenstockError, UsageError, require_extra

_POLL_S = 0.2
_TICK_S = 1.0
CONNECT_S = 30.0
Connect = Callable[[contextlib.ExitStack], Any]


class DaskEngine:
    """Shards on a Dask cluster. The cluster exists for the duration of the `with` block. Only texts are sent."""

    def __init__(self, connect: Connect, retries: int) -> None:
        self._connect = connect
        self._retries = retries
        self._open = contextlib.ExitStack()
        self._client: Any = None

    def __enter__(self) -> Self:
        self._client = self._connect(self._open)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def each(
        self, function: Callable[[str], str], tasks: Mapping[str, str], tick: Tick
    ) -> Iterator[tuple[str, str | ShardFailedError]]:
        # The task text differs between campaigns, so Dask never returns the result of another campaign.
        names = {
            f"penstock-{hashlib.sha256(text.encode()).hexdigest()[:32]}": key for key, text in tasks.items()
        }
        texts = [tasks[key] for key in names.values()]
        futures = self._client.map(
            function, texts, key=list(names), retries=self._retries, pure=False, batch_size=1000
        )
        finished = _distributed().as_completed(futures, loop=self._client.loop)
        left, ticked_s = len(futures), time.monotonic()
        while left:
            batch = finished.next_batch(block=False)
            for future in batch:
                left -= 1
                error = future.exception() if future.status == "error" else None
                if future.status == "cancelled":
                    error = RuntimeError("Dask cancelled it")
                told = f"{type(error).__name__}: {error}"
                yield names[future.key], future.result() if error is None else ShardFailedError(told)
                future.release()
            if not batch:
                time.sleep(_POLL_S)
            if time.monotonic() - ticked_s >= _TICK_S:
                tick()
                ticked_s = time.monotonic()


def scheduler_at(address: str) -> Connect:
    """An existing scheduler. It is refused if others could read or forge its traffic."""
    _check_address(address)

    def connect(stack: contextlib.ExitStack) -> Any:
        client_type = _distributed().Client
        try:
            return stack.enter_context(client_type(address, timeout=CONNECT_S, set_as_default=False))
        except (OSError, TimeoutError) as error:
            raise PenstockError(f"{address}: no Dask scheduler answers: {error}") from None

    return connect


def own_scheduler(workers: int) -> Connect:
    """A scheduler and workers on this machine, on loopback."""

    def connect(stack: contextlib.ExitStack) -> Any:
        distributed = _distributed()
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        stack.enter_context(cluster)
        return stack.enter_context(distributed.Client(cluster, set_as_default=False))

    return connect


def slurm_scheduler(asked: SlurmSection, directory: Path, jobs: int) -> Connect:
    """A scheduler here, and workers in up to `jobs` Slurm jobs. All traffic uses TLS.

    The number of jobs follows the amount of work. The directory must be visible on the compute nodes: results,
    certificates and job logs go there.
    """

    def connect(stack: contextlib.ExitStack) -> Any:
        distributed = _distributed()
        try:
            import dask_jobqueue
        except ImportError as error:
            raise require_extra("scale", error) from None
        private = directory / "tls"
        private.mkdir(mode=0o700, exist_ok=True)
        # When a job is requeued or lost, Dask gives its unfinished shards to other workers.
        cluster = dask_jobqueue.SLURMCluster(  # type: ignore[attr-defined]
            queue=asked.partition,
            account=asked.account,
            cores=asked.cores,
            processes=asked.cores,
            memory=asked.memory,
            walltime=_walltime(asked.walltime),
            python=sys.executable,
            interface=asked.interface,
            local_directory=str(directory / "scratch"),
            log_directory=str(directory / "slurm"),
            shared_temp_directory=str(private),
            protocol="tls://",
            security=distributed.Security.temporary(),
            scheduler_options={"dashboard_address": None},
            worker_extra_args=["--no-dashboard"],
            job_extra_directives=["--requeue", *asked.directives],
        )
        stack.enter_context(cluster)
        cluster.adapt(minimum_jobs=0, maximum_jobs=jobs, interval="2s")
        return stack.enter_context(distributed.Client(cluster, set_as_default=False))

    return connect


def _walltime(seconds: float) -> str:
    minutes = -(-int(seconds) // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _check_address(address: str) -> None:
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme == "tls":
        return
    host = parts.hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if parts.scheme != "tcp" or not local:
        raise UsageError(
            f"--scheduler {address}: only tls:// or an address on this machine; Dask runs what anybody sends it"
        )


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise require_extra("scale", error) from None
    # Dask warns whenever workers come or go, which is normal here. Failures reach us as results.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    return distributed
