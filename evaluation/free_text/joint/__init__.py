"""AQER in which language models vote: with the workers or alone."""
