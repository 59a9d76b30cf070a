"""The paper's evaluation, run again: sweeps, figures, tables, and what becomes of its claims."""
