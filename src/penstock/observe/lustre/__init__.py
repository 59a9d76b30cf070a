"""Lustre's own text formats and where they live: pure parsers, and the readers that feed them."""
