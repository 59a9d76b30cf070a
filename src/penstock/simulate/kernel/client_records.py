"""What a simulated client consists of, one record type a thing and one line a field.

Times are microseconds, sizes pages of 4 KiB unless a name says otherwise; a number that names another record is -1
for "none".
"""

from __future__ import annotations

from typing import Any

import numpy as np

F, I = "f8", "i8"  # noqa: E741 - as short as the column they fill


def record(*fields: tuple[str, str]) -> np.dtype[Any]:
    """A record type with these fields, each 8 bytes."""
    return np.dtype(list(fields), align=True)


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
    ("grant_step_bytes", F),  # the most new grant that a write's reply brings
    ("slice_us", F),  # how long a thread keeps a core
    ("message_us", F),  # processor time for one network message
    ("send_us_page", F),  # processor time to send a page
    ("receive_us_page", F),  # processor time to receive a page
    ("observe_us", F),  # processor time to read all counters once
    ("work_exponential", F),  # the share of that time that is exponentially distributed
    # What it has, and its state.
    ("nic", I),  # its network interface
    ("core", I),  # its first core
    ("cores", I),  # how many; 0 where processors are not modelled
    ("working", I),  # threads of the application that are at work
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
    # What its applications asked for, as the client counts it.
    ("read_calls", I),
    ("read_bytes", I),
    ("read_min", I),  # the smallest request, in bytes
    ("read_max", I),
    ("write_calls", I),
    ("write_bytes", I),
    ("write_min", I),
    ("write_max", I),
)

OSC = record(
    ("grant_bytes", F),  # grant not used yet
    ("grant_total_bytes", F),  # grant it holds, used or not
    ("grant_max_bytes", F),  # the most the OST gives it
    ("build_free_us", F),  # when its builder of RPCs is free
    ("touched_us", F),  # up to when the three integrals count
    ("flight_integral", F),  # RPCs in flight x time
    ("dirty_integral", F),  # dirty pages x time
    ("busy_integral", F),  # time with anything in flight
    ("grant_initial_bytes", F),  # what a new connection begins with
    ("client", I),
    ("ost", I),
    ("pages", I),  # the knob max_pages_per_rpc
    ("flight", I),  # the knob max_rpcs_in_flight
    ("dirty_max", I),  # the knob max_dirty_mb, in pages
    ("dirty", I),  # dirty pages, those in flight included
    ("reads", I),  # read RPCs in flight
    ("writes", I),  # write RPCs in flight
    ("waiters", I),  # threads that wait for room to write
    ("first_file", I),  # one of its files; `file.next_in_osc` is a ring
    ("cursor", I),  # the file whose turn it is to send
    ("lru_base", I),  # its ring of cached runs in `lru`: where it begins,
    ("lru_size", I),  # how many runs fit,
    ("lru_head", I),  # the oldest,
    ("lru_count", I),  # and how many there are
    ("lru_pages", I),  # pages of all its runs
    ("high_priority", I),  # extents that a lock callback made urgent
    ("generation", I),  # how often its connection was made
    ("build_pending", I),  # 1 when the calendar knows that the builder will be free
    ("state", I),  # of its connection, see `states`
    ("lost_pages", I),  # dirty pages that evictions cost
    ("evictions", I),
    ("timer", I),  # 1 while the calendar holds a time-out
)

FILE = record(
    ("dirtied_us", F),  # since when it is dirty, -1 if it is not
    ("osc", I),
    ("pages", I),  # its size
    ("state_base", I),  # its first page in `page_state`
    ("ext_base", I),  # its first page in `page_extent`, none if nobody writes it
    ("index1_base", I),  # its first count in `index1` (see `offsets`)
    ("index2_base", I),
    ("index3_base", I),
    ("next_in_osc", I),
    ("next_in_client", I),
    ("hp_head", I),  # extents that a lock callback made urgent
    ("hp_tail", I),
    ("urgent_head", I),  # extents that somebody waits for
    ("urgent_tail", I),
    ("full_head", I),  # extents that fill an RPC
    ("full_tail", I),
    ("cached_extents", I),  # dirty extents that are not in flight
    ("reading_head", I),  # extents to be read
    ("reading_tail", I),
    ("locked_head", I),  # write RPCs that hold or want the server's range lock
    ("locked_tail", I),
    ("locks_waiting", I),  # how many of them want it
    ("locks_scattered", I),  # how many of them have gaps
    ("first_stream", I),  # the first stream that has it open; `stream.next_in_file` leads on
    ("home", I),  # the file that stands for the object; itself unless clients share it
    ("shared", I),  # 1 if it takes extent locks
    ("lock", I),  # the lock of the stream that runs
    ("filling", I),  # the extent that this stream fills
    ("lock_head", I),  # the object's locks (at its home)
    ("lock_count", I),
    ("lock_room", I),  # how many it may have
    ("wanted_head", I),  # streams that wait for a lock (at its home)
    ("wanted_tail", I),
    ("called_back", I),  # locks that this client was asked to give up
    ("touched_low", I),  # the pages that may be cached: the first
    ("touched_high", I),  # and the last
    ("disk_page", I),  # where the object begins on its device
    ("writing", I),  # write RPCs in flight
)

STREAM = record(
    ("read_ratio", F),  # the share of its calls that read
    ("think_us", F),  # pause after each call
    ("start_us", F),
    ("stop_us", F),  # 0: never
    ("active_us", F),  # works so long,
    ("idle_us", F),  # then rests so long; 0: never rests
    ("phase_us", F),  # when it began to work
    ("call_us", F),  # its own time when it went to sleep
    ("owed_us", F),  # processor time that it still has to get
    ("client", I),
    ("file", I),
    ("sequential", I),
    ("request", I),  # pages of a call
    ("rng", I),
    ("mode", I),  # runs, is stopped, or what it waits for, see `states`
    ("busy", I),  # 1 inside a call
    ("cursor", I),  # the call's next page
    ("end", I),  # the page behind the call's last
    ("begin", I),  # the call's first page
    ("direction", I),
    ("position_read", I),  # where a sequential stream reads next, in requests
    ("position_write", I),
    ("wait_page", I),  # the page it waits for
    ("active_ext", I),  # the extent it fills
    ("ra_start", I),  # readahead: where its window begins,
    ("ra_next", I),  # the first page not asked for,
    ("ra_window", I),  # the window's size,
    ("ra_end_of_last", I),  # where the last read ended
    ("reads_done", I),
    ("cache_pages", I),  # the page cache its client runs with
    ("sync", I),  # 1 if this write waits until its data is stored
    ("blocked", I),  # since when it waits for room, in events scheduled
    ("next_in_file", I),
    ("lock", I),  # the extent lock it uses
    ("next_wanted", I),  # the next that waits for a lock
    ("call_bytes", I),
    # Scripted streams only.
    ("op", I),  # the instruction it is at
    ("op_first", I),
    ("op_end", I),  # behind the last; 0 if it follows no script
    ("op_done", I),  # requests of the instruction that are done
    ("repeats", I),  # 1 if it starts over at the end
    ("paused", I),  # of an instruction: 0 not begun, 1 its pause is over, 2 waits at a gate
    ("handle", I),  # the open file it uses
    ("turn", I),  # the gate's turn in which it came
    ("flushes", I),  # 1 if it flushes before it stops
    # What it asked for.
    ("read_calls", I),
    ("read_bytes", I),
    ("write_calls", I),
    ("write_bytes", I),
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

EXTENT = record(
    ("ready_us", F),  # when its pages may be asked for
    ("grant_bytes", I),  # grant it holds
    ("file", I),
    ("start", I),  # its first page
    ("pages", I),  # how many it has
    ("most_pages", I),  # the knob `pages` when it was made
    ("state", I),  # see `states`
    ("kind", I),  # the list it stands in
    ("prev", I),
    ("next", I),  # in its list, its RPC, or among the free
    ("max_end", I),  # the last page it may grow to
    ("lock", I),  # the extent lock it lies under
)

LRU = record(("file", I), ("start", I), ("pages", I))  # a run of cached pages
