"""Runs that ask models: answering items, judging pairs, giving points."""
