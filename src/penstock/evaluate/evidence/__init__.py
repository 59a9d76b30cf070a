"""The evidence behind docs/explanation/results.md: measured rows with a digest of the code that made them, and
tables.
"""
