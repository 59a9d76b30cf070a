"""Sharing I/O resources between jobs: how many each gets, which ones, and what that does to everybody.

An I/O resource is an OST, an I/O node or a burst-buffer node. The model is the one of Bandet, Boito and
Pallez, "Scheduling distributed I/O resources in HPC systems" (2024), with its errata resolved.
"""
