"""Reviewing a job that has run: its Darshan log, what it shows, and what to set the next time."""
