"""Sharing I/O resources between jobs: how many each job gets, which ones, and the effect on all jobs.

An I/O resource is an OST, an I/O node or a burst-buffer node. The model is the one of Bandet, Boito and Pallez,
"Scheduling distributed I/O resources in HPC systems" (2024), with its errata resolved.
"""
