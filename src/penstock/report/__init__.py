"""Pages and plots for people: self-contained files that need no network."""
