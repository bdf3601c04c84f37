"""Traces under review: the queue and the rate of failures."""
