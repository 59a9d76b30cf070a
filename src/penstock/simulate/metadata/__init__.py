"""The metadata path of simulated clients: slots, round trips, one server, and statahead. Pure, in virtual time.

Metadata servers answer thousands of requests a second where data paths move hundreds of thousands of pages, so these
mechanisms are plain Python and share no state with the kernels.
"""
