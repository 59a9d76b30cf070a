"""Simulated Lustre clusters: descriptions, workloads and scenarios, and a running simulation of them.

`kernel` holds the mechanisms whose interplay makes the throughput. Nothing here reads the wall clock.
"""

#: What the simulator does, however it is written: the number of runs in tests/golden/simulator.json that are counted,
#: and the digest of their counters. Stored results and models carry it, so a change that leaves every run as it was
#: leaves them valid. Tests run all of these, and compare this value with the file.
BEHAVIOUR = "41-3761e5ab150948bc"

__all__ = ["BEHAVIOUR"]
