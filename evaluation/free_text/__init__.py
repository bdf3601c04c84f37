"""Runs on free text (AQER) and their boards."""
