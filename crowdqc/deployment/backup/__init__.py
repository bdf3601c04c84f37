"""Everything of an installation as one file, and back (docs/adr/ground/0031-backup.md)."""
