"""Everything of an installation as one file, and back (docs/adr/infrastructure/0031-backups.md)."""
