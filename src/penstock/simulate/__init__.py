"""Simulated Lustre clusters: descriptions, workloads and scenarios, and a running simulation of them.

`kernel` holds the mechanisms whose interplay makes the throughput. Nothing here reads the wall clock.
"""
