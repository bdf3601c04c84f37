"""Back up and restore an installation (docs/adr/infrastructure/0031-backups.md)."""
