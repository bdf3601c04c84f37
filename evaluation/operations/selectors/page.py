"""The operations page: figures with their limits, what needs attention, and tables."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import django
from django.conf import settings
from django.core.checks import ERROR, CheckMessage, Tags, run_checks
from django.core.checks.registry import registry
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.records import BackupState
from crowdqc.deployment.backup.recovery import RecoveryState, recovery_problems
from crowdqc.jobs.broker import QueueState
from crowdqc.jobs.queues import ROLES
from crowdqc.numbers import ago, count, duration, plural, size_parts, sized
from crowdqc.web.health import HEARTBEAT_LIMIT_SECONDS
from evaluation.charts.waiting import waiting_line
from evaluation.operations.selectors import failures, figures, samples
from evaluation.operations.selectors.database import Load, SlowQuery, read_load, slow_queries
from evaluation.operations.selectors.figures import Reading, read

STARTED = timezone.now()
UNKNOWN = gettext_noop("not known")
UP_TO_DATE, OUT_OF_DATE = gettext_noop("up to date"), gettext_noop("out of date")
BACKUP_DUE = dt.timedelta(hours=26)
MAIL_LATE, HOOKS_LATE, DISK_FULL = 900.0, 3600.0, 0.85  # seconds; share of the disk
CONNECTIONS_FULL = 0.85  # share of the database's connections
CERTIFICATE_DUE = dt.timedelta(days=14)
SAID = {
    "default": gettext_noop("mail, upkeep, schedules"),
    "runs": gettext_noop("evaluations, bootstraps"),
    "files": gettext_noop("uploads, exports"),
    "platforms": gettext_noop("payments, webhooks, media"),
    "models": gettext_noop("calls to language models"),
    "backups": gettext_noop("backups, clean-up of files"),
}


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
    recovery: Reading[RecoveryState | None]
    load: Reading[Load]
    slow: Reading[list[SlowQuery] | None]
    certificate: Reading[dt.datetime | None]
    database_ms: float
    queue_ms: float


def gather() -> Facts:
    """Read everything, in a fixed number of queries; what fails fails alone."""
    began = time.perf_counter()
    size = read("the size of the database", figures.database_bytes)
    between = time.perf_counter()
    queues = read("the queues", figures.queues, database=False)
    ended = time.perf_counter()
    patience = dt.timedelta(seconds=settings.CROWDQC_QUEUE_AGE)
    return Facts(
        queues=queues,
        beats=read("the workers", figures.beats),
        database=size,
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
        recovery=read("recovery", figures.recovery_state),
        load=read("connections", read_load),
        slow=read("slow queries", slow_queries),
        certificate=read("the certificate", figures.certificate_end),
        database_ms=1000 * (between - began),
        queue_ms=1000 * (ended - between),
    )


# -- five figures ----------------------------------------------------------------------------------


def _unknown(label: str, why: str) -> dict[str, Any]:
    return {"label": label, "value": _(UNKNOWN), "of": "", "note": why}


def _jobs_figure(facts: Facts) -> dict[str, Any]:
    found = facts.queues.value
    if found is None:
        return _unknown(_("Jobs waiting"), facts.queues.problem)
    oldest = max((state.oldest or 0.0 for state in found.values()), default=0.0)
    limit = duration(settings.CROWDQC_QUEUE_AGE)
    return {
        "label": _("Jobs waiting"),
        "value": count(sum(state.waiting for state in found.values())),
        "of": _("in %(queues)s") % {"queues": plural(len(ROLES), "queue")},
        "note": _("oldest %(oldest)s, limit %(limit)s")
        % {"oldest": duration(round(oldest)) if oldest else _("none"), "limit": limit},
    }


def _alive(facts: Facts) -> list[str]:
    ages = facts.beats.value or {}
    return [r for r in ROLES if (age := ages.get(r)) is not None and age <= HEARTBEAT_LIMIT_SECONDS]


def _workers_figure(facts: Facts) -> dict[str, Any]:
    if facts.beats.value is None:
        return _unknown(_("Background workers"), facts.beats.problem)
    ages = [age for age in facts.beats.value.values() if age is not None]
    last = (
        _("last heartbeat %(age)s ago") % {"age": duration(round(min(ages)))}
        if ages
        else _("no heartbeat yet")
    )
    return {
        "label": _("Background workers"),
        "value": count(len(_alive(facts))),
        "of": _("of %(queues)s queues served") % {"queues": len(ROLES)},
        "note": last,
    }


def _database_figure(facts: Facts) -> dict[str, Any]:
    if facts.database.value is None:
        return _unknown(_("Database"), facts.database.problem)
    number, unit = size_parts(facts.database.value)
    before = read("samples", lambda: samples.at_least_before("database_bytes", dt.timedelta(30)))
    note = _("growth not known yet")
    if before.value is not None:
        grown = facts.database.value - before.value[1]
        sign = "+" if grown >= 0 else "−"
        note = _("%(sign)s %(size)s since %(when)s") % {
            "sign": sign,
            "size": sized(abs(grown)),
            "when": ago(before.value[0]),
        }
    return {"label": _("Database"), "value": number, "of": unit, "note": note}


def _backup_figure(facts: Facts) -> dict[str, Any]:
    at = facts.backup.value.made_at if facts.backup.value else None
    if at is None:
        return _unknown(_("Last backup"), facts.backup.problem or _("No backup is recorded."))
    age = timezone.now() - at
    note = _("overdue") if age > BACKUP_DUE else _("due every 24 h")
    if (recovery := facts.recovery.value) and recovery.archived_at:
        archived = duration(timezone.now() - recovery.archived_at)
        note = f"{note} · " + _("log archived %(time)s ago") % {"time": archived}
    return {"label": _("Last backup"), "value": duration(age), "of": _("ago"), "note": note}


def _storage_figure(facts: Facts) -> dict[str, Any]:
    if facts.disk is None:
        return _unknown(_("Storage"), _("The database is on another machine."))
    used, total = facts.disk
    number, unit = size_parts(total)
    return {
        "label": _("Storage"),
        "value": f"{used / total * float(number):.1f}" if total else "0",
        "of": _("of %(size)s") % {"size": f"{number} {unit}"},
        "done": used,
        "total": total,
        "note": _("%(size)s free") % {"size": sized(total - used)},
    }


# -- what needs attention --------------------------------------------------------------------------


def _note(level: str, head: str, text: str, url: str = "", link: str = "") -> dict[str, str]:
    return {"level": level, "head": head, "text": text, "url": url, "link": link}


def attention(facts: Facts) -> list[dict[str, str]]:
    """List what a person should look at, worst first."""
    found = [
        *_parts_down(facts),
        *_work_waits(facts),
        *_webhooks_wait(facts),
        *_limits_near(facts),
        *_stored_badly(facts),
    ]
    return sorted(found, key=lambda one: one["level"] != "bad")


def _parts_down(facts: Facts) -> list[dict[str, str]]:
    found = []
    problems = {
        reading.problem
        for reading in vars(facts).values()
        if isinstance(reading, Reading) and reading.problem
    }
    for problem in sorted(problems):
        found.append(_note("bad", problem, _("Some figures of this page are not known.")))
    if facts.beats.value is not None:
        missing = [role for role in ROLES if role not in _alive(facts)]
        if len(missing) == len(ROLES):
            head, text = (
                _("No background worker is running."),
                _("Runs and mail wait until one starts."),
            )
            found.append(_note("bad", head, text))
        else:
            for role in missing:
                head = _("No worker of the queue %(queue)s is running.") % {"queue": role}
                found.append(_note("bad", head, _("It does %(work)s.") % {"work": _(SAID[role])}))
    if _schema() == OUT_OF_DATE:
        head, text = _("The database schema is out of date."), _("Run manage.py migrate.")
        found.append(_note("bad", head, text))
    if errors := [one for one in system_checks() if one["level"] == "bad"]:
        head = _("%(checks)s failed.") % {"checks": plural(len(errors), "system check")}
        found.append(_note("bad", head, "", "#checks", _("Show checks")))
    return found


def _webhooks_wait(facts: Facts) -> list[dict[str, str]]:
    hooks = facts.hooks.value or {}
    if (hooks.get("oldest") or 0.0) <= HOOKS_LATE:
        return []
    head = _("Webhooks are %(time)s late.") % {"time": duration(round(hooks["oldest"]))}
    return [_note("warn", head, _("The systems that they are sent to do not answer."))]


def _work_waits(facts: Facts) -> list[dict[str, str]]:
    found = []
    limit = settings.CROWDQC_QUEUE_AGE
    for role, state in (facts.queues.value or {}).items():
        if state.oldest is not None and state.oldest > limit:
            head = _("The queue %(queue)s is late.") % {"queue": role}
            text = _("Its first job has waited %(time)s.") % {"time": duration(round(state.oldest))}
            found.append(_note("warn", head, text))
    if stuck := facts.stuck.value:
        text = _("They are queued again by themselves once a worker is free.")
        found.append(
            _note(
                "warn",
                _("%(runs)s stuck.") % {"runs": plural(len(stuck), "run")},
                text,
                "#stuck",
                _("Show"),
            )
        )
    if failed := facts.failed.value:
        found.append(
            _note(
                "warn",
                _("%(jobs)s failed.") % {"jobs": plural(len(failed), "job")},
                "",
                "#failed",
                _("Show failed jobs"),
            )
        )
    if unclear := (facts.payments.value or {}).get("unclear"):
        head = _("%(payments)s unclear.") % {"payments": plural(unclear, "payment")}
        found.append(_note("bad", head, _("A manager of the project has to decide.")))
    mail = facts.mail.value or {}
    if (mail.get("oldest") or 0.0) > MAIL_LATE:
        head = _("Mail is %(time)s late.") % {"time": duration(round(mail["oldest"]))}
        found.append(_note("bad", head, _("Check EMAIL_URL and the mail server.")))
    if mail.get("failed"):
        head = _("%(mails)s of the past day not sent.") % {"mails": plural(mail["failed"], "mail")}
        kinds = mail["given_up"]
        text = _("Notices: %(notice)s, invitations: %(invitation)s, account mail: %(account)s.")
        found.append(_note("warn", head, text % {kind: count(n) for kind, n in kinds.items()}))
    return found


def _limits_near(facts: Facts) -> list[dict[str, str]]:
    found = []
    if load := facts.load.value:
        used = sum(load.connections.values())
        if used > CONNECTIONS_FULL * load.limit:
            head = _("%(used)s of %(most)s connections to the database are in use.")
            text = _("Use fewer processes, or raise max_connections.")
            found.append(_note("bad", head % {"used": used, "most": load.limit}, text))
    ends = facts.certificate.value
    if ends is not None and ends - timezone.now() < CERTIFICATE_DUE:
        over = ends < timezone.now()
        head = _("The certificate has ended.") if over else _("The certificate ends soon.")
        text = _("Its last day is %(day)s.") % {"day": f"{ends:%Y-%m-%d}"}
        found.append(_note("bad" if over else "warn", head, text))
    return found


def _stored_badly(facts: Facts) -> list[dict[str, str]]:
    found = []
    if facts.disk is not None and facts.disk[0] > DISK_FULL * facts.disk[1]:
        share = facts.disk[0] / facts.disk[1]
        text = _("%(size)s are free.") % {"size": sized(facts.disk[1] - facts.disk[0])}
        head = _("The disk is %(share)s%% full.") % {"share": f"{100 * share:.0f}"}
        found.append(_note("bad" if share > 0.95 else "warn", head, text))
    if recovery := facts.recovery.value:
        for number, text in recovery_problems(recovery):
            if number == "W016":
                found.append(_note("bad", _("The database’s log is not archived."), text))
            else:
                found.append(_note("warn", _("A base backup is due."), text))
    state = facts.backup.value
    if state is None:  # why is said among what is down
        return found
    if state.made_at is None:
        found.append(_note("warn", _("No backup is known."), _("A lost disk loses everything.")))
    elif timezone.now() - state.made_at > BACKUP_DUE:
        head = _("The last backup is %(age)s old.") % {
            "age": duration(timezone.now() - state.made_at)
        }
        found.append(_note("warn", head, _("One is due every 24 hours.")))
    if state.failure:
        found.append(_note("warn", _("The last backup failed."), state.failure))
    if state.test_error:
        found.append(_note("bad", _("The last restore test failed."), state.test_error))
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
        oldest = duration(round(state.oldest)) if state and state.oldest is not None else _("none")
        rows.append(
            QueueRow(
                role,
                _(SAID[role]),
                state,
                _(UNKNOWN) if state is None else oldest,
                finished[role] if finished is not None else None,
                failed[role] if failed is not None else None,
                waiting_line(lines.get(role, []), role),
            )
        )
    return rows


@cache
def _fixed_checks() -> list[CheckMessage]:
    """Return the checks that a process runs once, as its settings do not change."""
    fixed = registry.tags_available(deployment_checks=True) - {Tags.database}
    return run_checks(tags=[*fixed], include_deployment_checks=True)


def system_checks() -> list[dict[str, str]]:
    """List the problems that ``check --deploy`` finds in production; none elsewhere."""
    if not settings.PRODUCTION:
        return []
    own = run_checks(tags=[Tags.database], include_deployment_checks=True, databases=["default"])
    found = [*_fixed_checks(), *own]
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
            return OUT_OF_DATE
        _up_to_date.append(True)
    return UP_TO_DATE


def _are_due() -> bool:
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


SIGN_INS = (
    ("sign-in", gettext_noop("Signed in")),
    ("sign-in.failed", gettext_noop("Wrong password")),
    ("factor.failed", gettext_noop("Wrong code")),
    ("sign-in.locked", gettext_noop("Locked out")),
    ("factor.used", gettext_noop("With a second factor")),
)


def _services(facts: Facts) -> list[dict[str, str]]:
    def one(name: str, reading: Reading[Any], said: str) -> dict[str, str]:
        ok = not reading.problem
        return {"name": name, "mark": "done" if ok else "bad", "said": said if ok else _("down")}

    return [
        {"name": _("Web"), "mark": "done", "said": _("answers")},
        one(_("Database"), facts.database, f"{facts.database_ms:.0f} ms"),
        one(_("Queue"), facts.queues, f"{facts.queue_ms:.0f} ms"),
    ]


def page() -> dict[str, Any]:
    """Return the context of the operations page."""
    facts = gather()
    notes = attention(facts)
    bad = any(one["level"] == "bad" for one in notes)
    attention_words = ngettext(
        "Running, %(things)s thing needs attention",
        "Running, %(things)s things need attention",
        len(notes),
    ) % {"things": count(len(notes))}
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
        "word": attention_words if notes else _("Running"),
        "sentence": " ".join(one["head"] for one in notes[:2]) or _("Nothing needs attention."),
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
        else [(_(said), facts.sign_ins.value.get(kind, 0)) for kind, said in SIGN_INS],
        "stored": None if stored is None else [(what, sized(n)) for what, n in stored],
        "slow": facts.slow,
        "backups": read("backups", lambda: records.recent_backups(3)),
        "can_back_up": bool(settings.CROWDQC_BACKUP_FOLDER),
        "services": _services(facts),
        "checks": system_checks(),
        "production": settings.PRODUCTION,
        "version": settings.SPECTACULAR_SETTINGS["VERSION"],
        "framework": django.get_version(),
        "schema": _(_schema()),
        "started": STARTED,
        "security_url": reverse("installation_security"),
    }
