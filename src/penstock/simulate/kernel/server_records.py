"""What travels to a simulated server, what the server consists of, and what happens to it; one line a field.

Units as in `client_records`.
"""

from __future__ import annotations

from penstock.simulate.kernel.client_records import F, I, record

RPC = record(
    ("sent_us", F),  # when it was decided to send it
    ("handed_us", F),  # when it went to the network
    ("work_us", F),  # device time it costs
    ("queued_us", F),  # since when it waits for a disk
    ("first_us", F),  # when the first piece of the message under way arrives
    ("last_us", F),  # and the last
    ("ready_us", F),  # when the sender's processor has handed all data over
    ("hand_us", F),  # and how long that takes
    ("replied_us", F),  # when the client took note of the reply
    ("direction", I),
    ("osc", I),  # none while the record is free
    ("file", I),
    ("pages", I),
    ("bytes", I),
    ("fragments", I),  # runs of pages that follow each other
    ("extents", I),
    ("low", I),  # its first page
    ("high", I),  # its last page
    ("ext_head", I),  # its extents
    ("ext_tail", I),
    ("next", I),  # in a queue, or among the free
    ("lock_prev", I),  # its neighbours in the object's queue for the range lock
    ("lock_next", I),
    ("locked", I),  # 1 while it holds the range lock
    ("short", I),  # 1 if its data travels in the request or the reply itself
    ("lost", I),  # 1 if the server never answers it
    ("dead", I),  # 1 if its client was evicted
    ("sent", I),  # pages that left, the message under way included
    ("sent_before", I),  # pages that left before that message
    ("received", I),  # pages that were copied
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

OST = record(
    ("journal_every_us", F),  # between two commits
    ("journal_us", F),  # device time of a commit
    ("slow", F),  # how many times slower a fault makes its device
    ("timeout_us", F),  # until clients notice that it does not answer
    ("oss", I),
    ("ssd", I),  # its device
    ("written", I),  # pages since the last commit
    ("range_lock", I),  # 1 if writes lock their range of the object
    ("down", I),  # 1 while it does not answer
)

SSD = record(  # a device, spinning or not
    ("free_us", F),  # when all its work is done
    ("read_rpc_us", F),  # work of a read command,
    ("read_us_page", F),  # and of each page
    ("write_rpc_us", F),
    ("write_us_page", F),
    ("fragment_us", F),  # work of each further fragment
    ("ramp", F),  # how much longer a lone read takes than its work,
    ("ramp_max_us", F),  # at most
    ("spread", F),  # the share of the reads under way that a new one waits for at least
    ("random_read_us", F),  # latency of a read far from the last one
    ("write_latency_us", F),
    ("mixed", F),  # speed left while reads and writes mix
    ("read_work_us", F),  # work of the reads under way
    ("write_work_us", F),
    ("busy_us", F),  # all work so far
    ("write_buffer_us", F),  # how much work of writes its memory holds
    ("bus_free_us", F),  # when the way into that memory is free
    ("rotation_us", F),  # of a disk: one turn; 0 for flash
    ("track_us", F),  # the shortest seek
    ("stroke_us", F),  # what a seek over all of it takes longer
    ("near_pages", I),  # a read so near to the last one pays no latency
    ("last_page", I),  # where the last request ended
    ("last_file", I),
    ("queue_depth", I),  # fragments that it fetches at once
    ("capacity_pages", I),
    ("queue_head", I),  # RPCs that wait for the disk
    ("queue_tail", I),
    ("serving", I),  # 1 while the disk is at work
    ("foreign_pages", I),  # pages of requests that are not ours
)

NIC = record(
    ("us_per_byte", F),
    ("send_free_us", F),  # when its sending pipe is free
    ("receive_free_us", F),
)

LINK = record(  # from one node to another
    ("latency_us", F),
    ("us_per_byte", F),  # what TCP's window leaves; 0: no limit
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
