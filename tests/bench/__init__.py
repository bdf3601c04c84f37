"""Benchmarks: each a ratio to a named peer measured in the same run (``make bench``)."""
