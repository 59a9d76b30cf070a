"""Bandwidth curves from a site's own history: finished jobs in, curves with intervals out."""
