"""Simulation studies that are too long for the test suite; each prints what it found."""
