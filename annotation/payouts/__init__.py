"""Paying people: what needs a second person."""
