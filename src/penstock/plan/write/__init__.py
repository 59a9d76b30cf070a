"""Write time: predicts how long a job's writes take, and which nodes should write.

A storage system and a write pattern give parameters (loads, skews, resources in use). Parameters give named features.
A model turns features into seconds, and into the share of every feature. `question` answers one question, `fitting`
fits a model to measured writes, `sampling` says what to measure.
"""
