"""Lustre's text formats and their locations: pure parsers, and the readers that use them."""
