"""Hints for collective buffering: exact operation counts, measured operations, and a prediction from both.

An access pattern and hints give counts (`counts`). A profile of measured operations gives surrogate models. Counts
times surrogates give seconds, and the seconds rank the hints. Only `worker` and its imports use MPI, in processes of
their own.
"""
