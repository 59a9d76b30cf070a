"""Penstock: shared HPC storage made fast, from before a job runs until it ends."""

__version__ = "0.1.0"
