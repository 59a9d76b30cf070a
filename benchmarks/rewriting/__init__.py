"""Rewriting in a client's page cache: recorded cells, and the same simulated."""
