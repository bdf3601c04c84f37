"""The judging side: what the collected answers say about workers, items and systems."""
