"""Attacks, played against the real stack."""
