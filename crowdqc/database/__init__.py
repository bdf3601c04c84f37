"""Database support: initial tables, compiled statements, locks between processes."""
