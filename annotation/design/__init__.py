"""Design of pairwise studies: pure functions, no database."""
