"""Traces: received, masked, settled and drawn."""
