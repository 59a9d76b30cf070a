"""What travels to a simulated server, what the server consists of, and what happens to it; one line a field.

Units as in `client_records`.
"""

from __future__ import annotations

from penstock.simulate.kernel.client_records import F, H, I, N, S, lined, record

RPC = lined(
    # First line: all that is needed where processors are not modelled.
    ("handed_us", F),  # when it went to the network
    ("work_us", F),  # device time it costs
    ("osc", N),  # none while the record is free
    ("file", N),
    ("pages", N),
    ("low", N),  # its first page
    ("high", N),  # its last page
    ("ext_head", N),  # its extents
    ("ext_tail", N),
    ("next", N),  # in a queue, or among the free
    ("lock_prev", N),  # its neighbours in the object's queue for the range lock
    ("lock_next", N),
    ("fragments", H),  # runs of pages that follow each other
    ("extents", H),
    ("direction", S),
    ("locked", S),  # 1 while it holds the range lock
    ("lost", S),  # 1 if the server never answers it
    ("dead", S),  # 1 if its client was evicted
    # Second line: disks, and processors.
    ("queued_us", F),  # since when it waits for a disk
    ("first_us", F),  # when the first piece of the message under way arrives
    ("last_us", F),  # and the last
    ("ready_us", F),  # when the sender's processor has handed all data over
    ("hand_us", F),  # and how long that takes
    ("replied_us", F),  # when the client took note of the reply
    ("sent", N),  # pages that left, the message under way included
    ("sent_before", N),  # pages that left before that message
    ("received", N),  # pages that were copied
)

OSS = record(
    ("request_us", F),  # to take a request up
    ("request_exponential", F),  # the share of it that is exponentially distributed
    ("reply_us", F),  # to answer
    ("page_us", F),  # checksum of a page
    ("fragment_us", F),  # to map a fragment
    ("message_us", F),  # processor time for one network message
    ("send_us_page", F),
    ("receive_us_page", F),
    ("work_exponential", F),  # the share of processor time that is exponentially distributed
    ("nic", I),
    ("core", I),  # its first core
    ("cores", I),  # how many; 0 where processors are not modelled
    ("acknowledged", I),  # 1 if read data must be acknowledged before the reply
    ("threads", I),
    ("busy", I),  # threads that serve an RPC
    ("queue_head", I),  # RPCs that wait for a thread
    ("queue_tail", I),
    ("rng", I),
)

OST = lined(
    ("slow", F),  # how many times slower a fault makes its device
    ("written", I),  # pages since the last commit
    ("oss", N),
    ("ssd", N),  # its device
    ("range_lock", N),  # 1 if writes lock their range of the object
    ("down", N),  # 1 while it does not answer
    ("journal_every_us", F),  # between two commits
    ("journal_us", F),  # device time of a commit
    ("timeout_us", F),  # until clients notice that it does not answer
)

SSD = lined(  # a device, spinning or not
    # First line: its state.
    ("free_us", F),  # when all its work is done
    ("bus_free_us", F),  # when the way into its memory is free
    ("read_work_us", F),  # work of the reads under way
    ("write_work_us", F),
    ("busy_us", F),  # all work so far
    ("rotation_us", F),  # of a disk: one turn; 0 for flash
    ("last_page", I),  # where the last request ended
    ("last_file", N),
    ("serving", N),  # 1 while the disk is at work
    # Second line: what writes cost, and some of it reads too.
    ("write_rpc_us", F),  # work of a write command,
    ("write_us_page", F),  # and of each page
    ("read_us_page", F),
    ("fragment_us", F),  # work of each further fragment
    ("write_latency_us", F),
    ("write_buffer_us", F),  # how much work of writes its memory holds
    ("mixed", F),  # speed left while reads and writes mix
    ("near_pages", N),  # a read so near to the last one pays no latency
    ("queue_depth", N),  # fragments that it fetches at once
    # Third line: what reads cost.
    ("read_rpc_us", F),
    ("ramp", F),  # how much longer a lone read takes than its work,
    ("ramp_max_us", F),  # at most
    ("spread", F),  # the share of the reads under way that a new one waits for at least
    ("random_read_us", F),  # latency of a read far from the last one
    ("queue_head", N),  # RPCs that wait for the disk
    ("queue_tail", N),
    ("capacity_pages", I),
    ("foreign_pages", I),  # pages of requests that are not ours
    # Fourth line: disks.
    ("track_us", F),  # the shortest seek
    ("stroke_us", F),  # what a seek over all of it takes longer
)

NIC = record(
    ("us_per_byte", F),
    ("send_free_us", F),  # when its sending pipe is free
    ("receive_free_us", F),
)

LINK = record(  # from one node to another
    ("latency_us", F),
    ("us_per_byte", F),  # what TCP's window leaves; 0: no limit
    ("promised_us", F),  # when all that was asked for in order will have left
    ("in_order", I),  # 1: an RPC's data leaves whole, 0: messages of parallel RPCs take turns
    ("behind_us", F),  # the longest wait of a small message behind bulk data; 0: no limit
    ("free_us", F),
    ("turn", I),  # the credit whose turn it is
)

CORE = record(
    ("free_us", F),
    ("busy_us", F),  # all work so far
)

LOCK = record(  # an extent lock
    ("file", I),  # of the client that holds it
    ("low", I),  # first page
    ("high", I),  # last page
    ("direction", I),
    ("state", I),  # see `states`
    ("users", I),  # calls under way that need it
    ("extents", I),  # dirty extents under it
    ("called", I),  # 1 once the server asked for it back
    ("heard", I),  # 1 once the client knows
    ("next", I),  # of the object, or among the free
)

FAULT = record(  # what happens to a cluster besides its jobs
    ("begin_us", F),
    ("end_us", F),
    ("factor", F),  # slow: how many times slower
    ("gap_us", F),  # load: mean time between two requests
    ("kind", I),
    ("ost", I),
    ("client", I),
    ("pages", I),  # load: of a request
    ("writing", I),  # load: 1 if it writes
    ("depth", I),  # load: requests under way at once
    ("turn", I),  # load: the request whose turn it is
    ("rng", I),
    ("active", I),  # 1 from its begin to its end
)
