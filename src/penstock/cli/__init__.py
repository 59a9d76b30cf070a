"""The command line: parses options and prints results. It has no logic; each verb has its own module."""
