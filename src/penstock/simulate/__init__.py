"""Simulated targets: behaviour that emerges from mechanisms. Pure: no files, no wall clock."""
