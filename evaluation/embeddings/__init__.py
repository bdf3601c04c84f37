"""Encoders of texts, and vectors kept by encoder and text."""
