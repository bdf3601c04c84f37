"""Deployment: installation, production checks, backups, logs and traces."""
