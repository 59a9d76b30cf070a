"""Collective-buffering hints: exact operation counts, measured elements, and the prediction that joins them.

An access and hints give counts (`counts`, `bgq`); a profile of elemental operations gives surrogates; counts
times surrogates give seconds; seconds rank the hints. Only `worker` and what it imports speak MPI, in
processes of their own.
"""
