"""Runs as files that compute their numbers again."""
