"""Self-contained HTML pages and plots that need no network."""
