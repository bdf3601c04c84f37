"""One-command stack without services: embedded PostgreSQL and a supervisor of all processes."""

from __future__ import annotations

from crowdqc.devstack.postgres import Cluster, DevstackError, database_url, ensure_database

__all__ = ["Cluster", "DevstackError", "database_url", "ensure_database"]
