"""A live directory in Lustre's own layout, formats and manners, over a simulated client."""
