"""The mechanisms of the simulator: compiled kernels, one mechanism a file, over the arrays of one world."""
