"""Advice before the run: how long a job's writes will take, and how to write them faster.

A system description and a write pattern give parameters (loads, skews, resources in use); parameters give
features; a model turns features into seconds and into the share of every feature in them.
"""
