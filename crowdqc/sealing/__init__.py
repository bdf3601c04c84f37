"""Secrets at rest, and bringing them under a new key."""
