"""Runs on responses with sources, and the replay of how they were written."""
