"""Advice before the run, in three rooms: `write` (write time), `collective` (hints), `job` (a job's log).

They share `storage` (what a write passes on its way to a disk) and `hints` (the MPI-IO hints that exist).
"""
