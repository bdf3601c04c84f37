"""Reads of the operations room: single figures, samples of the past day, and the page."""
