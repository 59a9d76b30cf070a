"""The evaluation of the paper, repeated: sweeps, figures, tables, and a verdict on each claim."""
