"""Jobs of the annotation app; each may run twice without harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from celery import Task, shared_task

from annotation.accounts.actions import mail
from annotation.accounts.signing import actions as accounts
from annotation.authoring.actions import media
from annotation.files.stored.actions import clean_up
from annotation.formats.actions import export_files
from annotation.formats.uploads import actions as uploads
from annotation.formats.uploads import process
from annotation.notifications.actions import task_states as states
from annotation.notifications.actions import webhook_delivery as deliver
from annotation.payouts.actions import payments, rejections
from annotation.payouts.actions import sending as payment_sending
from annotation.privacy.actions import erasure, retention
from annotation.records.actions import replies
from annotation.recruitment.actions import key_sets as recruitment
from annotation.traces.actions import alerts, exchange
from annotation.traces.actions import settle as traces
from annotation.work.actions import leases, origins, reading
from crowdqc import limits
from crowdqc.database.locks import try_lock
from crowdqc.deployment.backup import recovery, schedule

SOON = 15.0  # seconds, after which it is asked again
HOUR: dict[str, Any] = {"soft_time_limit": 3600, "time_limit": 3660}


@shared_task(ignore_result=True)
def release_expired() -> int:
    """Free the slots of leases that ran out."""
    return leases.release_expired()


@shared_task(ignore_result=True, **HOUR)
def count_words_shown() -> int:
    """Count once how many words the pages of submitted assignments showed."""
    return reading.count_words_shown()


@shared_task(ignore_result=True, **HOUR)
def erase_due_logs() -> int:
    """Erase the interaction logs that were kept for as long as their workers agreed to."""
    return retention.erase_due_logs()


@shared_task(ignore_result=True)
def delete_due_origins() -> int:
    """Delete hashes of devices and networks that were kept for their days."""
    return origins.delete_due_origins()


@shared_task(ignore_result=True)
def forget_old_replies() -> int:
    """Delete kept replies to requests with an Idempotency-Key that nobody repeats any more."""
    return replies.delete_old_replies()


@shared_task(ignore_result=True)
def send_payments() -> int:
    """Send what was approved to the platforms that pay it, and look at what has no answer yet."""
    with try_lock("send_payments") as mine:  # a slow platform holds one process, not all
        return payment_sending.send_due() if mine else 0


@shared_task(ignore_result=True)
def start_if_due(name: str) -> bool:
    """Queue the job of this name (in ``DUE``) if it has work; return whether it did.

    The check runs here, so that the queue for other systems needs no worker while nothing is due.
    """
    job, is_due = DUE[name]
    if not is_due():
        return False
    job.apply_async(expires=SOON)
    return True


@shared_task(ignore_result=True)
def send_mail() -> int:
    """Send the mail that is due."""
    return mail.send_due()


@shared_task(ignore_result=True, **HOUR)
def fetch_media() -> int:
    """Fetch the images and recordings that items of drafts name by address."""
    with try_lock("fetch_media") as mine:
        return media.fetch_due() if mine else 0


@shared_task(ignore_result=True)
def deliver_hooks() -> int:
    """Tell other systems what they are owed."""
    with try_lock("deliver_hooks") as mine:
        return deliver.deliver_due() if mine else 0


@shared_task(ignore_result=True)
def fetch_key_set(url: str) -> bool:
    """Read the keys by which a platform signs its entries."""
    return recruitment.fetch_key_set(url=url)


@shared_task(ignore_result=True)
def refresh_key_sets() -> int:
    """Queue a reload of platforms' signing keys that are old; return how many were queued."""
    return recruitment.refresh_key_sets()


@shared_task(ignore_result=True)
def tell_states() -> int:
    """Tell staff of tasks that have all they ask for, silent sources and backlogs of traces."""
    return states.tell_complete() + alerts.send_alerts()


@shared_task(ignore_result=True)
def forget_told() -> int:
    """Delete addresses of ended invitations."""
    return mail.forget_addresses()


@shared_task(ignore_result=True)
def remind_overdue_replies() -> int:
    """Remind managers of overdue replies to rejections, once a day each; return how many."""
    return rejections.remind_overdue()


@shared_task(ignore_result=True)
def remind_late_payments() -> int:
    """Remind managers of approved pay that is unpaid, once a week; return how many projects."""
    return payments.remind_of_late()


@shared_task(ignore_result=True, **HOUR)
def sweep() -> int:
    """Delete received, generated and uploaded data that is no longer needed.

    Return how many rows.
    """
    return erasure.sweep() + accounts.delete_stale_accounts() + limits.delete_ended_windows()


@shared_task(ignore_result=True, **HOUR)
def clean_up_files() -> int:
    """Delete stored files that no row points to."""
    with try_lock("clean_up_files") as mine:
        return clean_up() if mine else 0


@shared_task(ignore_result=True, **HOUR)
def write_export(file_id: int) -> str:
    """Write a file that somebody asked for; one that has moved on is left alone."""
    return export_files.write(file_id)


@shared_task(ignore_result=True, **HOUR)
def process_upload(file_id: int) -> str:
    """Read, check or import an uploaded file; one that has moved on is left alone."""
    return process.process(file_id)


process_upload.when_killed = process.fail_killed


@shared_task(ignore_result=True, soft_time_limit=6 * 3600, time_limit=6 * 3600 + 60)
def make_due_backup() -> str:
    """Write a backup where one is due, delete the oldest, and test whether it can be restored."""
    with try_lock("make_due_backup") as mine:
        return schedule.make_due_backup() if mine else ""


@shared_task(ignore_result=True, soft_time_limit=6 * 3600, time_limit=6 * 3600 + 60)
def back_up_now() -> str:
    """Write a backup on request, unless one is being written already."""
    with try_lock("make_due_backup") as mine:
        return schedule.create_requested_backup() if mine else ""


@shared_task(ignore_result=True)
def mark_recovery() -> None:
    """Record the time where the write-ahead log is archived."""
    recovery.record_mark()


@shared_task(ignore_result=True)
def look_after_files() -> int:
    """Queue files again whose worker died, and delete those whose days are over."""
    return export_files.resume_abandoned() + export_files.expire() + uploads.resume_abandoned()


@shared_task(ignore_result=True, **HOUR)
def settle_traces() -> int:
    """Settle traces that are quiet, and draw some of them for review; return how many."""
    with try_lock("settle_traces") as mine:
        return traces.settle_due() if mine else 0


@shared_task(ignore_result=True, **HOUR)
def delete_old_traces() -> int:
    """Delete traces whose days are over; return how many."""
    return traces.delete_expired()


@shared_task(ignore_result=True)
def exchange_traces() -> int:
    """Read traces from the tools that hold them, and send reviews back; return how many."""
    with try_lock("exchange_traces") as mine:
        done = exchange.exchange_due() if mine else None
    return done.spans + done.scores if done else 0


DUE: Mapping[str, tuple[Task, Callable[[], bool]]] = {
    "send_payments": (send_payments, payment_sending.is_due),
    "deliver_hooks": (deliver_hooks, deliver.is_due),
    "fetch_media": (fetch_media, media.is_due),
    "exchange_traces": (exchange_traces, exchange.is_due),
}
