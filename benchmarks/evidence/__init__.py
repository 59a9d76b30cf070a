"""The study behind docs/explanation/results.md: which rows are measured, how, and what the page says of them."""
