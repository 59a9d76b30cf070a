"""Many simulations side by side."""
