"""Files that come in: their limits, how they are read in a stream, and how they wait for import."""
