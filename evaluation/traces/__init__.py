"""Traces under review: the queue, what people and judges say, and how many traces fail."""
