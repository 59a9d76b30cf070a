"""The states of pages and extents, and the queues an extent can stand in."""

from __future__ import annotations

# A page of the client's page cache.
ABSENT, READING, UPTODATE = 0, 1, 2

# An extent of dirty pages (osc_extent): being filled, cached, on its way, gone.
FREE, ACTIVE, CACHE, FLYING = 0, 1, 2, 3

# What a block of pages says that do not all belong to the same extent, or none.
MIXED = -2

# Where a cached extent waits to be sent.
UNLISTED, HIGH_PRIORITY, URGENT, FULL, TO_READ = 0, 1, 2, 3, 4

# Why a stream does not run.
RUNNING, WAITS_FOR_READ, WAITS_FOR_CACHE, WAITS_FOR_WRITEBACK, WAITS_FOR_SYNC, STOPPED = 0, 1, 2, 3, 4, 5
WAITS_FOR_LOCK, WAITS_FOR_FLUSH, WAITS_AT_GATE, WAITS_FOR_FSYNC, WAITS_FOR_COMMIT = 6, 7, 8, 9, 10

# How far a stream's fsync is: none under way, its data leaves, the servers commit.
NO_FSYNC, DATA_LEAVES, SERVERS_COMMIT = 0, 1, 2

# An extent lock: granted but still on its way, in use by its client, on its way back, forgotten by the OST.
LOCK_GRANTED, LOCK_HELD, LOCK_CANCELLING, LOCK_GONE = 0, 1, 2, 3

# The connection of an OSC to its OST, in Lustre's words.
FULL_IMPORT, DISCONN, CONNECTING, EVICTED, REPLAY = 0, 1, 2, 3, 4
IMPORT_WORDS = ("FULL", "DISCONN", "CONNECTING", "EVICTED", "REPLAY")
