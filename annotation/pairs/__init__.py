"""Texts under judgment: candidates, their pairs, and tasks made of other tasks."""
