"""Advice before a job runs, in three parts: `write` (write time), `collective` (MPI-IO hints), `job` (a job's log).

They share `storage` (the description of a storage system) and `hints` (the MPI-IO hints that exist).
"""
