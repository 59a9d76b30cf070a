"""The collective-I/O paper's own model: counts of its Blue Gene/Q driver, and a machine calibrated to its results."""
