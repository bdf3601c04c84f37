"""Erasure, retention, and how an account is closed."""
