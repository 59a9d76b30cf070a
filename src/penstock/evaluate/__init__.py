"""Experiments: each a small module that sets up worlds, runs policies in them and compares."""
