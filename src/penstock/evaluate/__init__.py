"""Experiments.

Each is a small module that sets up simulated worlds, runs policies in them and compares the results.
"""
