"""The operations page: figures with their limits, what needs attention, and tables."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import django
from django.conf import settings
from django.core.checks import ERROR, Tags, run_checks
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.records import BackupState
from crowdqc.jobs.broker import QueueState
from crowdqc.jobs.queues import ROLES
from crowdqc.numbers import ago, count, duration, plural
from crowdqc.web.health import HEARTBEAT_LIMIT_SECONDS
from evaluation.charts.waiting import waiting_line
from evaluation.operations.selectors import failures, figures, samples
from evaluation.operations.selectors.figures import Reading, read

STARTED = timezone.now()
UNKNOWN = "not known"
BACKUP_DUE = dt.timedelta(hours=26)
MAIL_LATE, DISK_FULL = 900.0, 0.85  # seconds; share of the disk
SAID = {
    "default": "mail, upkeep, schedules",
    "runs": "evaluations, bootstraps",
    "files": "uploads, exports",
    "platforms": "payments, webhooks, media",
    "models": "calls to language models",
    "backups": "backups, clean-up of files",
}


def size(value: float) -> tuple[str, str]:
    """Bytes as a number and a unit."""
    for unit, bytes_of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= bytes_of:
            number = value / bytes_of
            return (f"{number:.1f}" if number < 100 else f"{number:.0f}"), unit
    return f"{value / 1e3:.0f}", "kB"


def sized(value: float) -> str:
    """Bytes in words."""
    return " ".join(size(value))


@dataclass(frozen=True)
class QueueRow:
    """A line of the table of queues; None: not known."""

    name: str
    said: str
    state: QueueState | None
    oldest: str
    finished: float | None
    failed: float | None
    line: SafeString | str


@dataclass(frozen=True)
class Facts:
    """Every reading that the page is made of."""

    queues: Reading[dict[str, QueueState]]
    beats: Reading[dict[str, float | None]]
    database: Reading[int]
    disk: tuple[int, int] | None
    stored: Reading[list[tuple[str, int]]]
    runs: Reading[dict[str, int]]
    leases: Reading[dict[str, int]]
    payments: Reading[dict[str, int]]
    mail: Reading[dict[str, Any]]
    hooks: Reading[dict[str, int]]
    sign_ins: Reading[dict[str, int]]
    failed: Reading[list[failures.Failure]]
    stuck: Reading[list[failures.StuckRun]]
    backup: Reading[BackupState]
    database_ms: float
    queue_ms: float


def gather() -> Facts:
    """Read everything, in a fixed number of queries; what fails fails alone."""
    began = time.perf_counter()
    database = read("the size of the database", figures.database_bytes)
    between = time.perf_counter()
    queues = read("the queues", figures.queues, database=False)
    ended = time.perf_counter()
    patience = dt.timedelta(seconds=settings.CROWDQC_QUEUE_AGE)
    return Facts(
        queues=queues,
        beats=read("the workers", figures.beats),
        database=database,
        disk=figures.disk(),
        stored=read("storage", figures.stored),
        runs=read("runs", figures.runs),
        leases=read("leases", figures.leases),
        payments=read("payments", figures.payments),
        mail=read("mail", figures.mail),
        hooks=read("webhooks", figures.hooks),
        sign_ins=read("sign-ins", figures.sign_ins),
        failed=read("failed jobs", failures.failures),
        stuck=read("stuck runs", lambda: failures.stuck_runs(patience)),
        backup=read("the last backup", figures.last_backup),
        database_ms=1000 * (between - began),
        queue_ms=1000 * (ended - between),
    )


# -- five figures ----------------------------------------------------------------------------------


def _unknown(label: str, why: str) -> dict[str, Any]:
    return {"label": label, "value": UNKNOWN, "of": "", "note": why}


def _jobs_figure(facts: Facts) -> dict[str, Any]:
    found = facts.queues.value
    if found is None:
        return _unknown("Jobs waiting", facts.queues.problem)
    oldest = max((state.oldest or 0.0 for state in found.values()), default=0.0)
    limit = duration(settings.CROWDQC_QUEUE_AGE)
    return {
        "label": "Jobs waiting",
        "value": count(sum(state.waiting for state in found.values())),
        "of": f"in {plural(len(ROLES), 'queue')}",
        "note": f"oldest {duration(round(oldest)) if oldest else 'none'}, limit {limit}",
    }


def _alive(facts: Facts) -> list[str]:
    ages = facts.beats.value or {}
    return [r for r in ROLES if (age := ages.get(r)) is not None and age <= HEARTBEAT_LIMIT_SECONDS]


def _workers_figure(facts: Facts) -> dict[str, Any]:
    if facts.beats.value is None:
        return _unknown("Background workers", facts.beats.problem)
    ages = [age for age in facts.beats.value.values() if age is not None]
    last = f"last heartbeat {duration(round(min(ages)))} ago" if ages else "no heartbeat yet"
    return {
        "label": "Background workers",
        "value": count(len(_alive(facts))),
        "of": f"of {len(ROLES)} queues served",
        "note": last,
    }


def _database_figure(facts: Facts) -> dict[str, Any]:
    if facts.database.value is None:
        return _unknown("Database", facts.database.problem)
    number, unit = size(facts.database.value)
    before = read("samples", lambda: samples.at_least_before("database_bytes", dt.timedelta(30)))
    note = "growth not known yet"
    if before.value is not None:
        grown = facts.database.value - before.value[1]
        sign = "+" if grown >= 0 else "−"
        note = f"{sign} {sized(abs(grown))} since {ago(before.value[0])}"
    return {"label": "Database", "value": number, "of": unit, "note": note}


def _backup_figure(facts: Facts) -> dict[str, Any]:
    at = facts.backup.value.made_at if facts.backup.value else None
    if at is None:
        return _unknown("Last backup", facts.backup.problem or "No backup is recorded.")
    age = timezone.now() - at
    return {
        "label": "Last backup",
        "value": duration(age),
        "of": "ago",
        "note": "overdue" if age > BACKUP_DUE else "due every 24 h",
    }


def _storage_figure(facts: Facts) -> dict[str, Any]:
    if facts.disk is None:
        return _unknown("Storage", "The database is on another machine.")
    used, total = facts.disk
    number, unit = size(total)
    return {
        "label": "Storage",
        "value": f"{used / total * float(number):.1f}" if total else "0",
        "of": f"of {number} {unit}",
        "done": used,
        "total": total,
        "note": f"{sized(total - used)} free",
    }


# -- what needs attention --------------------------------------------------------------------------


def _note(level: str, head: str, text: str, url: str = "", link: str = "") -> dict[str, str]:
    return {"level": level, "head": head, "text": text, "url": url, "link": link}


def attention(facts: Facts) -> list[dict[str, str]]:
    """What a person should look at, the worst first."""
    found = [*_parts_down(facts), *_work_waits(facts), *_stored_badly(facts)]
    return sorted(found, key=lambda one: one["level"] != "bad")


def _parts_down(facts: Facts) -> list[dict[str, str]]:
    found = []
    problems = {
        reading.problem
        for reading in vars(facts).values()
        if isinstance(reading, Reading) and reading.problem
    }
    for problem in sorted(problems):
        found.append(_note("bad", problem, "Some figures of this page are not known."))
    if facts.beats.value is not None:
        missing = [role for role in ROLES if role not in _alive(facts)]
        if len(missing) == len(ROLES):
            head, text = "No background worker is running.", "Runs and mail wait until one starts."
            found.append(_note("bad", head, text))
        else:
            for role in missing:
                head = f"No worker of the queue {role} is running."
                found.append(_note("bad", head, f"It does {SAID[role]}."))
    if _schema() == "out of date":
        head, text = "The database schema is out of date.", "Run manage.py migrate."
        found.append(_note("bad", head, text))
    if errors := [one for one in system_checks() if one["level"] == "bad"]:
        head = f"{plural(len(errors), 'system check')} failed."
        found.append(_note("bad", head, "", "#checks", "Show checks"))
    return found


def _work_waits(facts: Facts) -> list[dict[str, str]]:
    found = []
    limit = settings.CROWDQC_QUEUE_AGE
    for role, state in (facts.queues.value or {}).items():
        if state.oldest is not None and state.oldest > limit:
            head = f"The queue {role} is late."
            text = f"Its first job has waited {duration(round(state.oldest))}."
            found.append(_note("warn", head, text))
    if stuck := facts.stuck.value:
        text = "They are queued again by themselves once a worker is free."
        found.append(_note("warn", f"{plural(len(stuck), 'run')} stuck.", text, "#stuck", "Show"))
    if failed := facts.failed.value:
        found.append(
            _note(
                "warn", f"{plural(len(failed), 'job')} failed.", "", "#failed", "Show failed jobs"
            )
        )
    if unclear := (facts.payments.value or {}).get("unclear"):
        head = f"{plural(unclear, 'payment')} unclear."
        found.append(_note("bad", head, "A manager of the project has to decide."))
    mail = facts.mail.value or {}
    if (mail.get("oldest") or 0.0) > MAIL_LATE:
        head = f"Mail is {duration(round(mail['oldest']))} late."
        found.append(_note("warn", head, "Check EMAIL_URL and the mail server."))
    if mail.get("failed"):
        head = f"{plural(mail['failed'], 'mail')} of the past day not sent."
        found.append(_note("warn", head, "Their notices stand in the application."))
    return found


def _stored_badly(facts: Facts) -> list[dict[str, str]]:
    found = []
    if facts.disk is not None and facts.disk[0] > DISK_FULL * facts.disk[1]:
        share = facts.disk[0] / facts.disk[1]
        text = f"{sized(facts.disk[1] - facts.disk[0])} are free."
        head = f"The disk is {100 * share:.0f}% full."
        found.append(_note("bad" if share > 0.95 else "warn", head, text))
    state = facts.backup.value
    if state is None:  # why is said among what is down
        return found
    if state.made_at is None:
        found.append(_note("warn", "No backup is known.", "A lost disk loses everything."))
    elif timezone.now() - state.made_at > BACKUP_DUE:
        head = f"The last backup is {duration(timezone.now() - state.made_at)} old."
        found.append(_note("warn", head, "One is due every 24 hours."))
    if state.failure:
        found.append(_note("warn", "The last backup failed.", state.failure))
    if state.test_error:
        found.append(_note("bad", "The last restore test failed.", state.test_error))
    return found


# -- the rest --------------------------------------------------------------------------------------


def _queue_rows(facts: Facts) -> list[QueueRow]:
    found = facts.queues.value
    finished = read("finished jobs", lambda: samples.last_hour("finished")).value
    failed = read("failed jobs", lambda: samples.last_day("failed")).value
    lines = read("samples", lambda: samples.lines("waiting")).value or {}
    rows = []
    for role in ROLES:
        state = found[role] if found is not None else None
        oldest = duration(round(state.oldest)) if state and state.oldest is not None else "none"
        rows.append(
            QueueRow(
                role,
                SAID[role],
                state,
                UNKNOWN if state is None else oldest,
                finished[role] if finished is not None else None,
                failed[role] if failed is not None else None,
                waiting_line(lines.get(role, []), role),
            )
        )
    return rows


@cache
def system_checks() -> list[dict[str, str]]:
    """What Django and crowdqc find in production's settings, once a process; elsewhere nothing."""
    if not settings.PRODUCTION:
        return []
    found = run_checks(tags=[Tags.security], include_deployment_checks=True)
    return [
        {
            "id": str(one.id),
            "said": str(one.msg),
            "hint": str(one.hint or ""),
            "level": "bad" if one.level >= ERROR else "warn",
        }
        for one in found
    ]


_up_to_date: list[bool] = []


def _schema() -> str:
    """Whether all migrations are applied; asked once more while they are not."""
    if not _up_to_date:
        due = read("migrations", _are_due)
        if due.value is None:
            return UNKNOWN
        if due.value:
            return "out of date"
        _up_to_date.append(True)
    return "up to date"


def _are_due() -> bool:
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


SIGN_INS = (
    ("sign-in", "Signed in"),
    ("sign-in.failed", "Wrong password"),
    ("factor.failed", "Wrong code"),
    ("sign-in.locked", "Locked out"),
    ("factor.used", "With a second factor"),
)


def _services(facts: Facts) -> list[dict[str, str]]:
    def one(name: str, reading: Reading[Any], said: str) -> dict[str, str]:
        ok = not reading.problem
        return {"name": name, "mark": "done" if ok else "bad", "said": said if ok else "down"}

    return [
        {"name": "Web", "mark": "done", "said": "answers"},
        one("Database", facts.database, f"{facts.database_ms:.0f} ms"),
        one("Queue", facts.queues, f"{facts.queue_ms:.0f} ms"),
    ]


def page() -> dict[str, Any]:
    """What the page shows."""
    facts = gather()
    notes = attention(facts)
    bad = any(one["level"] == "bad" for one in notes)
    things = f"{plural(len(notes), 'thing')} need{'s' if len(notes) == 1 else ''} attention"
    stored = facts.stored.value
    return {
        "figures": [
            _jobs_figure(facts),
            _workers_figure(facts),
            _database_figure(facts),
            _backup_figure(facts),
            _storage_figure(facts),
        ],
        "mark": "bad" if bad else "warn" if notes else "done",
        "word": f"Running, {things}" if notes else "Running",
        "sentence": " ".join(one["head"] for one in notes[:2]) or "Nothing needs attention.",
        "warnings": notes,
        "queues": _queue_rows(facts),
        "sampled": read("samples", samples.last_taken).value,
        "failed": facts.failed,
        "stuck": facts.stuck,
        "mail": facts.mail,
        "hooks": facts.hooks,
        "leases": facts.leases,
        "payments": facts.payments,
        "sign_ins": None
        if facts.sign_ins.value is None
        else [(said, facts.sign_ins.value.get(kind, 0)) for kind, said in SIGN_INS],
        "stored": None if stored is None else [(what, sized(n)) for what, n in stored],
        "backups": read("backups", lambda: records.recent(3)),
        "can_back_up": bool(settings.CROWDQC_BACKUP_FOLDER),
        "services": _services(facts),
        "checks": system_checks(),
        "production": settings.PRODUCTION,
        "version": settings.SPECTACULAR_SETTINGS["VERSION"],
        "framework": django.get_version(),
        "schema": _schema(),
        "started": STARTED,
        "security_url": reverse("installation_security"),
    }
