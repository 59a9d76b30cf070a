"""Showing a running agent to people and to monitoring, without ever holding it up."""
