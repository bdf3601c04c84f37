"""Running it: where it is installed, what production must not run with, backups, logs."""
