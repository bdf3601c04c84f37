"""Prompts that a project writes itself: what they may be for, their check, their versions."""
