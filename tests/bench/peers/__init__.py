"""Other tools for the same work, each in an environment of its own, measured beside crowdqc."""
