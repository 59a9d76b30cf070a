"""The counters of a client, with the semantics of the real ones.

Histograms are tallied when an RPC is sent and clip at 31 in flight; byte and time sums when it completes; the
application's bytes at the end of each call; the dirty gauge includes pages in flight.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.records import PAGE, READ, World

# Columns of `World.sums`, whose row is 2 * osc + direction.
(
    COUNT,
    BYTES,
    BYTES_MIN,
    BYTES_MAX,
    BYTES_SQUARES,
    USEC,
    USEC_MIN,
    USEC_MAX,
    USEC_SQUARES,
    SENT,
    SENT_PAGES,
) = range(11)
SUM_COLUMNS = 11
PAGES_BINS = 11
FLIGHT_BINS = 32


@kernel
def account(w: World, o: int, now_us: float) -> None:
    """Bring the time integrals of in-flight RPCs and dirty pages up to now; call before either changes."""
    elapsed_us = now_us - w.osc.touched_us[o]
    if elapsed_us > 0.0:
        flying = w.osc.reads[o] + w.osc.writes[o]
        w.osc.flight_integral[o] += elapsed_us * flying
        w.osc.dirty_integral[o] += elapsed_us * w.osc.dirty[o]
        if flying > 0:
            w.osc.busy_integral[o] += elapsed_us
        w.osc.touched_us[o] = now_us


@entry
def account_range(w: World, first: int, end: int, now_us: float) -> None:
    """The same for OSCs that follow each other."""
    for o in range(first, end):
        account(w, o, now_us)


@kernel
def tally_send(w: World, o: int, direction: int, pages: int) -> None:
    """An RPC is handed to the network: both histograms."""
    row = 2 * o + direction
    size_bin = 0
    while (1 << size_bin) < pages and size_bin < PAGES_BINS - 1:
        size_bin += 1
    w.pages_histogram[row, size_bin] += 1
    flying = w.osc.reads[o] if direction == READ else w.osc.writes[o]
    w.flight_histogram[row, min(flying, FLIGHT_BINS - 1)] += 1
    w.sums[row, SENT] += 1
    w.sums[row, SENT_PAGES] += pages


@kernel
def tally_completion(w: World, o: int, direction: int, pages: int, usec: float) -> None:
    """An RPC's reply is in: `stats` rows of bytes and of time on the wire."""
    sums = w.sums[2 * o + direction]
    size = float(pages * PAGE)
    usec = float(int(usec))
    if sums[COUNT] == 0.0:
        sums[BYTES_MIN], sums[USEC_MIN] = size, usec
    sums[COUNT] += 1.0
    sums[BYTES] += size
    sums[BYTES_MIN] = min(sums[BYTES_MIN], size)
    sums[BYTES_MAX] = max(sums[BYTES_MAX], size)
    sums[BYTES_SQUARES] += size * size
    sums[USEC] += usec
    sums[USEC_MIN] = min(sums[USEC_MIN], usec)
    sums[USEC_MAX] = max(sums[USEC_MAX], usec)
    sums[USEC_SQUARES] += usec * usec


@kernel
def tally_call(w: World, s: int) -> None:
    """The system call that stream `s` is in returns: its client's counters, and the stream's own."""
    client, stream = w.client, w.stream
    c, size = stream.client[s], stream.call_bytes[s]
    if stream.direction[s] == READ:
        client.read_min[c] = size if client.read_calls[c] == 0 else min(client.read_min[c], size)
        client.read_max[c] = max(client.read_max[c], size)
        client.read_calls[c] += 1
        client.read_bytes[c] += size
        stream.read_calls[s] += 1
        stream.read_bytes[s] += size
    else:
        client.write_min[c] = size if client.write_calls[c] == 0 else min(client.write_min[c], size)
        client.write_max[c] = max(client.write_max[c], size)
        client.write_calls[c] += 1
        client.write_bytes[c] += size
        stream.write_calls[s] += 1
        stream.write_bytes[s] += size


@kernel
def tally_fsync(w: World, c: int, usec: float) -> None:
    """An fsync on a client returns after so long."""
    client = w.client
    usec = float(int(usec))
    client.fsync_min[c] = usec if client.fsyncs[c] == 0 else min(client.fsync_min[c], usec)
    client.fsync_max[c] = max(client.fsync_max[c], usec)
    client.fsyncs[c] += 1
    client.fsync_us[c] += usec
    client.fsync_squares[c] += usec * usec
