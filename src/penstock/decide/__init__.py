"""Deciding without touching: windows in, decisions out. Nothing here reads a clock, a file or a counter."""
