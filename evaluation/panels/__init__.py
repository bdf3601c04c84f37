"""Choosing people for panels by a run, watching panels, and runs on their answers."""
