"""What a simulated client consists of, one record type a thing and one line a field.

Times are microseconds, sizes pages of 4 KiB unless a name says otherwise; a number that names another record is -1
for "none".
"""

from __future__ import annotations

from typing import Any

import numpy as np

# A float, an integer; a page or a number of another record; a count up to 32,767; a count up to 255.
F, I, N, H, S = "f8", "i8", "i4", "i2", "u1"  # noqa: E741 - as short as the column they fill
LINE_BYTES = 64


def record(*fields: tuple[str, str], fill: int = 1) -> np.dtype[Any]:
    """A record type with these fields in this order, filled up to a multiple of so many bytes."""
    tight = np.dtype(list(fields), align=True)
    return np.dtype(
        {
            "names": [name for name, _ in fields],
            "formats": [kind for _, kind in fields],
            "offsets": [tight.fields[name][1] for name, _ in fields] if tight.fields else [],
            "itemsize": -(-tight.itemsize // fill) * fill,
        },
        align=True,
    )


def lined(*fields: tuple[str, str]) -> np.dtype[Any]:
    """A record type of whole cache lines: for records of which a large world has very many.

    There an event costs the lines it touches, so fields that are used together stand on one line.
    """
    return record(*fields, fill=LINE_BYTES)


CLIENT = record(
    # What its work costs.
    ("read_call_us", F),  # to enter read()
    ("read_copy_us_page", F),  # to copy a cached page to the application
    ("read_submit_us_page", F),  # to ask for a page, read ahead or not
    ("read_demand_us_page", F),  # more than that for a page the call itself needs
    ("write_call_us", F),  # to enter write()
    ("write_new_us_page", F),  # to make a page dirty
    ("write_over_us_page", F),  # to write over a page that is dirty already
    ("wake_us", F),  # from the end of a wait until the thread runs
    ("build_read_us", F),  # to build a read RPC
    ("build_write_us", F),  # to build a write RPC,
    ("build_write_us_page", F),  # more for each of its pages
    ("build_write_us_extent", F),  # and for each of its extents
    ("reply_read_us", F),  # to take note of a read's reply
    ("reply_write_us", F),  # to take note of a write's reply,
    ("reply_us_page", F),  # more for each of its pages
    ("lru_free_us_page", F),  # to drop a cached page
    ("flush_every_us", F),  # between two rounds of the kernel's flusher
    ("flush_age_us", F),  # how long a file is dirty before the flusher sends it
    ("extent_tax_bytes", F),  # grant that every extent costs besides its pages
    ("grant_initial_bytes", F),  # what a new connection begins with
    ("grant_step_bytes", F),  # the most new grant that a write's reply brings
    ("slice_us", F),  # how long a thread keeps a core
    ("message_us", F),  # processor time for one network message
    ("send_us_page", F),  # processor time to send a page
    ("receive_us_page", F),  # processor time to receive a page
    ("observe_us", F),  # processor time to read all counters once
    ("work_exponential", F),  # the share of that time that is exponentially distributed
    ("daemon_saved_us", F),  # processor time that its daemon may have before others
    ("daemon_seen_us", F),  # when that was reckoned
    ("reply_owed_us", F),  # what its daemon still has to do for the reply at the head of the queue
    # What it has, and its state.
    ("nic", I),  # its network interface
    ("core", I),  # its first core
    ("cores", I),  # how many; 0 where processors are not modelled
    ("working", I),  # threads of the application that are at work
    ("replies_in_turn", I),  # 1: its daemon deals with replies in turn with all other threads
    ("reply_head", I),  # RPCs whose replies wait for the daemon
    ("reply_tail", I),
    ("rng", I),  # its random numbers
    ("stride", I),  # pages a thread goes on before it looks who else needs its core
    ("cached_max", I),  # room in the page cache
    ("cached", I),  # pages in it, dirty ones included
    ("ra_max", I),  # the largest readahead window
    ("ra_refill", I),  # the least that is asked for when a window is refilled
    ("ra_whole", I),  # a file of at most so many pages is read whole
    ("osts", I),  # how many OSTs it sees
    ("dirty", I),  # dirty pages of all its OSCs
    ("dirty_max", I),  # and how many there may be
    ("first_file", I),  # the first of its files; `file.next_in_client` leads on
    ("metadata_us", F),  # a request to the metadata server and its answer
    # What its applications asked for, as the client counts it.
    ("read_calls", I),
    ("read_bytes", I),
    ("read_min", I),  # the smallest request, in bytes
    ("read_max", I),
    ("write_calls", I),
    ("write_bytes", I),
    ("write_min", I),
    ("write_max", I),
    ("opens", I),  # files opened
    ("closes", I),  # and closed
    ("fsyncs", I),
    ("fsync_us", F),  # time that threads spent in fsync: the sum,
    ("fsync_min", F),
    ("fsync_max", F),
    ("fsync_squares", F),  # and the sum of squares
)

OSC = lined(
    # First line: what every RPC that begins or ends changes.
    ("touched_us", F),  # up to when the three integrals count
    ("flight_integral", F),  # RPCs in flight x time
    ("dirty_integral", F),  # dirty pages x time
    ("busy_integral", F),  # time with anything in flight
    ("build_free_us", F),  # when its builder of RPCs is free
    ("dirty", I),  # dirty pages, those in flight included
    ("reads", I),  # read RPCs in flight
    ("writes", I),  # write RPCs in flight
    # Second line: what decides whether more may be dirty or sent.
    ("grant_bytes", F),  # grant not used yet
    ("grant_total_bytes", F),  # grant it holds, used or not
    ("grant_max_bytes", F),  # the most the OST gives it
    ("pages", I),  # the knob max_pages_per_rpc
    ("flight", I),  # the knob max_rpcs_in_flight
    ("dirty_max", I),  # the knob max_dirty_mb, in pages
    ("state", I),  # of its connection, see `states`
    ("client", N),
    ("ost", N),
    # Third line.
    ("lru_base", N),  # its ring of cached runs in `lru`: where it begins,
    ("lru_size", N),  # how many runs fit,
    ("lru_head", N),  # the oldest,
    ("lru_count", N),  # and how many there are
    ("lru_pages", N),  # pages of all its runs
    ("youngest_file", N),  # the youngest run, which is here and not in the ring: its file,
    ("youngest_start", N),  # its first page,
    ("youngest_pages", N),  # and how many it has
    ("waiters", N),  # threads that wait for room to write
    ("first_file", N),  # one of its files; `file.next_in_osc` is a ring
    ("cursor", N),  # the file whose turn it is to send
    ("high_priority", N),  # extents that a lock callback made urgent
    ("generation", N),  # how often its connection was made
    ("evictions", N),
    ("build_pending", S),  # 1 when the calendar knows that the builder will be free
    ("timer", S),  # 1 while the calendar holds a time-out
    ("lost_pages", N),  # dirty pages that evictions cost
)

FILE = lined(
    # First line: where its pages are, and its server's range lock.
    ("state_base", I),  # its first page in `page_state`
    ("ext_base", I),  # its first page in `page_extent`, none if nobody writes it
    ("block_base", N),  # its first block
    ("index2_base", N),
    ("index3_base", N),
    ("pages", N),  # its size
    ("osc", N),
    ("home", N),  # the file that stands for the object; itself unless clients share it
    ("lock", N),  # the lock of the stream that runs
    ("filling", N),  # the extent that this stream fills
    ("locked_head", N),  # write RPCs that hold or want the server's range lock
    ("locked_tail", N),
    ("locks_waiting", N),  # how many of them want it
    ("locks_scattered", N),  # how many of them have gaps
    # Second line: what waits to be sent.
    ("dirtied_us", F),  # since when it is dirty, -1 if it is not
    ("cached_extents", N),  # dirty extents that are not in flight
    ("writing", N),  # write RPCs in flight
    ("first_stream", N),  # the first stream that has it open; `stream.next_in_file` leads on
    ("next_in_osc", N),
    ("reading_head", N),  # extents to be read
    ("reading_tail", N),
    ("full_head", N),  # extents that fill an RPC
    ("full_tail", N),
    ("urgent_head", N),  # extents that somebody waits for
    ("urgent_tail", N),
    ("hp_head", N),  # extents that a lock callback made urgent
    ("hp_tail", N),
    ("called_back", N),  # locks that this client was asked to give up
    ("shared", N),  # 1 if it takes extent locks
    # Third line: shared files, and what is seldom looked at.
    ("lock_head", N),  # the object's locks (at its home)
    ("lock_count", N),
    ("lock_room", N),  # how many it may have
    ("wanted_head", N),  # streams that wait for a lock (at its home)
    ("wanted_tail", N),
    ("touched_low", N),  # the pages that may be cached: the first
    ("touched_high", N),  # and the last
    ("next_in_client", N),
    ("disk_page", I),  # where the object begins on its device
    ("awaited", N),  # dirty extents, in flight or not, that an fsync waits for
)

STREAM = lined(
    # First line: where it stands in its call.
    ("call_us", F),  # its own time when it went to sleep
    ("owed_us", F),  # processor time that it still has to get
    ("stop_us", F),  # 0: never
    ("active_us", F),  # works so long,
    ("client", N),
    ("file", N),
    ("cursor", N),  # the call's next page
    ("end", N),  # the page behind the call's last
    ("wait_page", N),  # the page it waits for
    ("active_ext", N),  # the extent it fills
    ("lock", N),  # the extent lock it uses
    ("mode", S),  # runs, is stopped, or what it waits for, see `states`
    ("busy", S),  # 1 inside a call
    ("direction", S),
    ("sync", S),  # 1 if this write waits until its data is stored
    # Second line: what its next call will be.
    ("read_ratio", F),  # the share of its calls that read
    ("think_us", F),  # pause after each call
    ("call_bytes", I),
    ("begin", N),  # the call's first page
    ("request", N),  # pages of a call
    ("position_read", N),  # where a sequential stream reads next, in requests
    ("position_write", N),
    ("rng", N),
    ("op_end", N),  # of a script: behind its last instruction; 0 if it follows none
    ("cache_pages", N),  # the page cache its client runs with
    ("next_in_file", N),
    ("next_wanted", N),  # the next that waits for a lock
    ("sequential", S),
    ("between", S),  # what it does between two calls, flags of `syncing`
    # Third line: readahead, and what it asked for.
    ("ra_start", N),  # readahead: where its window begins,
    ("ra_next", N),  # the first page not asked for,
    ("ra_window", N),  # the window's size,
    ("ra_end_of_last", N),  # where the last read ended
    ("reads_done", I),
    ("read_calls", I),
    ("read_bytes", I),
    ("write_calls", I),
    ("write_bytes", I),
    ("blocked", I),  # since when it waits for room, in events scheduled
    # Fourth line: phases and scripts.
    ("start_us", F),
    ("idle_us", F),  # after `active_us` it rests so long; 0: never
    ("phase_us", F),  # when it began to work
    ("op_done", I),  # requests of the instruction that are done
    ("op", N),  # the instruction it is at
    ("op_first", N),
    ("handle", N),  # the open file it uses
    ("turn", N),  # the gate's turn in which it came
    ("paused", S),  # of an instruction: 0 not begun, 1 its pause is over, 2 waits at a gate
    ("repeats", S),  # 1 if it starts over at the end
    ("flushes", S),  # 1 if it flushes before it stops
    ("at_work", S),  # 1 while it counts among its client's working threads
    ("syncing", S),  # how far its fsync is, see `states`
    # Fifth line: programs that fsync, or close and open again.
    ("fsync_bytes", I),  # it does so after writing so many bytes; 0: never
    ("fsynced_bytes", I),  # what it had written at its last fsync
    ("close_bytes", I),  # it closes after so many bytes, read or written; 0: never
    ("closed_bytes", I),  # what it had read and written at its last close
    ("fsync_us", F),  # when its fsync began
)

OP = record(  # one instruction of a script
    ("at_us", F),  # not before this time
    ("think_us", F),  # pause before each request
    ("kind", I),  # read, write, or a step of `scripted`
    ("handle", I),  # the open file, or the gate
    ("fan", I),  # how many handles a request chooses from
    ("page", I),  # where the first request begins
    ("pages", I),  # of each request; 0: the whole file
    ("bytes", I),  # of each request; 0: whole pages
    ("count", I),  # how many requests
    ("stride", I),  # pages from one to the next, or anywhere
)

HANDLE = record(  # an open file of a scripted stream; readahead as in STREAM
    ("file", I),
    ("ra_start", I),
    ("ra_next", I),
    ("ra_window", I),
    ("ra_end_of_last", I),
    ("reads_done", I),
)

GATE = record(  # where scripted streams wait for each other
    ("first", I),  # the first of its streams
    ("streams", I),  # and how many
    ("level", I),  # streams that have come, or pieces in the store
    ("limit", I),  # how many must come, or fit
    ("turn", I),  # how often all have met
)

EXTENT = lined(
    ("ready_us", F),  # when its pages may be asked for
    ("grant_bytes", N),  # grant it holds
    ("file", N),
    ("start", N),  # its first page
    ("pages", N),  # how many it has
    ("most_pages", N),  # the knob `pages` when it was made
    ("max_end", N),  # the last page it may grow to
    ("lock", N),  # the extent lock it lies under
    ("prev", N),
    ("next", N),  # in its list, its RPC, or among the free
    ("state", S),  # see `states`
    ("kind", S),  # the list it stands in
    ("awaited", S),  # 1 if an fsync waits for it
)

BLOCK = record(  # 64 pages of a file
    ("extent", N),  # the extent that all of them belong to, none, or MIXED (see `pages`)
    ("starts", N),  # how many cached extents start in it (see `offsets`)
)

LRU = record(("file", N), ("start", N), ("pages", N))  # a run of cached pages
