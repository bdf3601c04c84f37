"""Models that judge the pairs of a live evaluation: runs on some pairs at a time, held to money."""
