"""Rates of failure over all traces, from those that people reviewed."""
