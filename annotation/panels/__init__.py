"""Panels of chosen workers, qualification rounds, and who is left out of results."""
