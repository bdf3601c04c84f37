"""Proposals with their evidence, bonus rules, and what work pays by the hour."""
