"""Queues of jobs, and periodic jobs."""

from __future__ import annotations

import logging
from typing import Any

# Jobs that talk to other systems; runs that ask models go to "models", all others to "default".
JOB_QUEUES = {
    "annotation.jobs.process_upload": "files",
    "annotation.jobs.write_export": "files",
    "evaluation.jobs.move_project": "files",
    "annotation.jobs.clean_up_files": "backups",
    "annotation.jobs.make_due_backup": "backups",
    "annotation.jobs.back_up_now": "backups",
    "evaluation.jobs.reset_demo": "backups",
    "annotation.jobs.send_payments": "platforms",
    "annotation.jobs.deliver_hooks": "platforms",
    "annotation.jobs.fetch_media": "platforms",
    "annotation.jobs.fetch_key_set": "platforms",
    "annotation.jobs.exchange_traces": "platforms",
    "evaluation.jobs.probe_model": "platforms",
    "evaluation.jobs.list_models": "platforms",
    "evaluation.jobs.read_certificate": "platforms",
}

# Jobs that act for people or move money: not done while the installation is read-only. What people
# started before goes on, as do mail, backups, and the erasures that people were promised.
PAUSED_WHEN_READ_ONLY = frozenset(
    {
        "annotation.jobs.exchange_traces",
        "annotation.jobs.fetch_media",
        "annotation.jobs.release_expired",
        "annotation.jobs.remind_late_payments",
        "annotation.jobs.remind_overdue_replies",
        "annotation.jobs.send_payments",
        "annotation.jobs.settle_traces",
        "annotation.jobs.tell_states",
        "evaluation.jobs.adapt_all",
        "evaluation.jobs.check_live",
        "evaluation.jobs.delete_projects",
        "evaluation.jobs.move_project",
        "evaluation.jobs.start_due_runs",
    }
)

# Seconds from one start to the next.
PERIODIC: dict[str, dict[str, Any]] = {
    "refresh-key-sets": {"task": "annotation.jobs.refresh_key_sets", "schedule": 600.0},
    "make-due-backup": {"task": "annotation.jobs.make_due_backup", "schedule": 600.0},
    "mark-recovery": {"task": "annotation.jobs.mark_recovery", "schedule": 60.0},
    "look-after-files": {"task": "annotation.jobs.look_after_files", "schedule": 60.0},
    "release-expired-leases": {"task": "annotation.jobs.release_expired", "schedule": 30.0},
    "count-words-shown": {"task": "annotation.jobs.count_words_shown", "schedule": 60.0},
    # Hourly: the schedule counts from the start, and a stack may not run for a whole day.
    "forget-old-replies": {"task": "annotation.jobs.forget_old_replies", "schedule": 3600.0},
    "remind-overdue-replies": {
        "task": "annotation.jobs.remind_overdue_replies",
        "schedule": 3600.0,
    },
    "remind-late-payments": {
        "task": "annotation.jobs.remind_late_payments",
        "schedule": 3600.0,
    },
    "delete-due-origins": {"task": "annotation.jobs.delete_due_origins", "schedule": 86_400.0},
    "erase-due-logs": {"task": "annotation.jobs.erase_due_logs", "schedule": 3600.0},
    "erase-due-texts": {"task": "evaluation.jobs.erase_due_texts", "schedule": 3600.0},
    # Hourly until a day's work is done; then it waits for the next day.
    "delete-expired-rows": {"task": "evaluation.jobs.delete_expired_rows", "schedule": 3600.0},
    "delete-projects": {"task": "evaluation.jobs.delete_projects", "schedule": 60.0},
    "erase-waiting-workers": {"task": "evaluation.jobs.erase_waiting", "schedule": 60.0},
    "forget-what-has-done-its-work": {"task": "annotation.jobs.sweep", "schedule": 3600.0},
    "clean-up-files": {"task": "annotation.jobs.clean_up_files", "schedule": 3600.0},
    "send-payments": {
        "task": "annotation.jobs.start_if_due",
        "args": ["send_payments"],
        "schedule": 15.0,
    },
    "start-due-runs": {"task": "evaluation.jobs.start_due_runs", "schedule": 15.0},
    "adapt-collections": {"task": "evaluation.jobs.adapt_all", "schedule": 10.0},
    "check-live-evaluations": {"task": "evaluation.jobs.check_live", "schedule": 5.0},
    "write-board-bundles": {
        "task": "evaluation.jobs.write_board_bundles",
        "schedule": 600.0,
    },
    "resume-abandoned-runs": {"task": "evaluation.jobs.resume_abandoned", "schedule": 20.0},
    "send-mail": {"task": "annotation.jobs.send_mail", "schedule": 30.0},
    "deliver-hooks": {
        "task": "annotation.jobs.start_if_due",
        "args": ["deliver_hooks"],
        "schedule": 10.0,
    },
    "fetch-media": {
        "task": "annotation.jobs.start_if_due",
        "args": ["fetch_media"],
        "schedule": 60.0,
    },
    "forget-told": {"task": "annotation.jobs.forget_told", "schedule": 3600.0},
    "take-samples": {"task": "evaluation.jobs.take_samples", "schedule": 300.0},
    "read-certificate": {"task": "evaluation.jobs.read_certificate", "schedule": 3600.0},
    "settle-traces": {"task": "annotation.jobs.settle_traces", "schedule": 10.0},
    "exchange-traces": {
        "task": "annotation.jobs.start_if_due",
        "args": ["exchange_traces"],
        "schedule": 30.0,
    },
    "delete-old-traces": {"task": "annotation.jobs.delete_old_traces", "schedule": 3600.0},
    "tell-states": {"task": "annotation.jobs.tell_states", "schedule": 60.0},
}

# When a public demo begins anew (UTC), and by which job.
DEMO_HOUR, DEMO_JOB = 3, "evaluation.jobs.reset_demo"


class OmitPeriodicJobs(logging.Filter):
    """Logging filter: omit that a periodic job succeeded, which the metrics count."""

    names = frozenset(entry["task"] for entry in PERIODIC.values())

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is kept."""
        job = record.args.get("name") if isinstance(record.args, dict) else None
        return record.levelno > logging.INFO or job not in self.names
