"""The project: settings, the job queue's application and the embedded stack."""

from __future__ import annotations

from crowdqc.celery import app as celery_app

__all__ = ["celery_app"]
