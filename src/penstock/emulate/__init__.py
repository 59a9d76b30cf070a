"""A live directory with Lustre's own layout, formats and errors, over a simulated client."""
