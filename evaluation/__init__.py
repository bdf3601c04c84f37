"""The evaluation app: what the collected answers say about workers, items and systems."""
