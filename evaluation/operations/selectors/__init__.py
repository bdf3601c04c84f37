"""Read the operations page: single figures, samples of the past day, and the whole page."""
