"""The goals of the shipped policy, one module a kind of evidence; `benchmarks.tuner` puts them into one table."""
