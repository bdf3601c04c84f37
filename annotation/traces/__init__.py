"""Traces of applications: received, masked, settled, and drawn into a queue for reviews."""
