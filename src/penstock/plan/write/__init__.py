"""Write time: how long a job's writes take before it runs, and which nodes should write.

A storage system and a write pattern give parameters (loads, skews, resources in use); parameters give named
terms; a model turns terms into seconds and into the share of every term in them. `question` answers one
question, `fitting` makes a model of measured writes, `sampling` says what to measure.
"""
