"""The evidence behind docs/results.md: rows that are kept with what made them, and the tables made of rows."""
