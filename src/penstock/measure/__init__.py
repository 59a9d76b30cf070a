"""Applications that make work on a real mount."""
