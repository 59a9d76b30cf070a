"""Campaigns: large numbers of simulations, run as shards on many processes or machines."""
