"""Jobs of the collecting side; each may run twice without harm."""

from __future__ import annotations

from celery import shared_task

from annotation.actions import assignments, retention


@shared_task(ignore_result=True)
def release_expired() -> int:
    """Free the slots of leases that ran out."""
    return assignments.release_expired()


@shared_task(ignore_result=True)
def erase_due_logs() -> int:
    """Erase the interaction logs that were kept for as long as their workers agreed to."""
    return retention.erase_due_logs()
