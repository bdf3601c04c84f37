"""Simulate the precision that a planned study reaches: planners by shape, and the Plan page."""
