"""First tables, and locks between processes."""
