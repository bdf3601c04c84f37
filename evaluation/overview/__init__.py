"""A project at a glance: what waits, what results say, how precise they can be."""
