"""From recent windows to the probability that a candidate setting pays: features, trees, model files."""
