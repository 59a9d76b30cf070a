"""The studies behind docs/explanation/claims.md, baseline.md and results.md: which rows are measured, and how."""
