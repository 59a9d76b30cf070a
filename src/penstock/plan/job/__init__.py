"""Reviews a job that has run: reads its Darshan log, finds problems, and says what to set next time."""
