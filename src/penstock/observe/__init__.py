"""Reads what a file system client reports about itself. This room never writes to the kernel."""
