"""Sets knobs as decided, and restores them after any failure. This room never chooses a value."""
