"""The evidence behind docs/explanation/results.md: rows kept with what made them, and the tables made of rows."""
