"""The installation's own metrics, read from the database and the broker when they are scraped.

Labels are names of queues, states and currencies: no person and no project. A part that cannot be
read is left out and its ``crowdqc_part_up`` is 0, so no graph shows a 0 that nobody measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.conf import settings
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from evaluation.operations.selectors import database, figures, samples
from evaluation.operations.selectors.figures import read
from evaluation.retention.growth import stored_by_kind

Family = Any


def _gauge(name: str, said: str, values: Iterable[tuple[str, float]], label: str = "") -> Family:
    family = GaugeMetricFamily(f"crowdqc_{name}", said, labels=[label] if label else [])
    for key, value in values:
        family.add_metric([key] if label else [], float(value))
    return family


def _single_gauge(name: str, said: str, value: float) -> Family:
    return _gauge(name, said, [("", value)])


def _queues() -> Iterator[Family]:
    found = figures.queues()
    by = [(role, state.waiting) for role, state in found.items()]
    yield _gauge("queue_jobs_waiting", "Jobs that wait for a worker.", by, "queue")
    by = [(role, state.running) for role, state in found.items()]
    yield _gauge("queue_jobs_running", "Jobs that a worker has taken.", by, "queue")
    ages = [(role, state.oldest or 0.0) for role, state in found.items()]
    said = "How long the first job in the queue has waited; 0 where none waits."
    yield _gauge("queue_oldest_job_age_seconds", said, ages, "queue")


def _workers() -> Iterator[Family]:
    ages = [(role, age) for role, age in figures.beats().items() if age is not None]
    said = "Time since a worker of the queue last gave a sign of life; absent: it never did."
    yield _gauge("worker_heartbeat_age_seconds", said, ages, "queue")


def _jobs() -> Iterator[Family]:
    for what, said in (("finished", "that ended"), ("failed", "that ended with an error")):
        by = list(samples.last_hour(what).items())
        yield _gauge(f"jobs_{what}_hour", f"Jobs {said} in the past hour.", by, "queue")


def _runs() -> Iterator[Family]:
    yield _gauge("runs", "Runs of methods, by state.", figures.runs().items(), "state")


def _leases() -> Iterator[Family]:
    found = figures.leases()
    yield _single_gauge("leases", "Assignments that workers hold now.", found["active"])
    said = "Assignments held beyond their time; a job frees them every 30 seconds."
    yield _single_gauge("leases_overdue", said, found["overdue"])


def _payments() -> Iterator[Family]:
    said = "Payments that are not confirmed, by state; a person has to look at unclear ones."
    yield _gauge("payments_open", said, figures.payments().items(), "state")


def _ledger() -> Iterator[Family]:
    said = "What the ledger owes to workers, as of the last sample (every five minutes)."
    yield _gauge("ledger_owed", said, samples.latest("owed").items(), "currency")


def _models() -> Iterator[Family]:
    family = CounterMetricFamily(
        "crowdqc_llm_spend", "Cost of all calls to language models.", labels=["currency"]
    )
    for currency, amount in figures.llm_spend().items():
        family.add_metric([currency], float(amount or 0))
    yield family


def _encoder() -> Iterator[Family]:
    said = "Texts a second that workers encoded in the past five minutes."
    yield _single_gauge("encoder_texts_per_second", said, figures.encoder_rate())


def _database() -> Iterator[Family]:
    yield _single_gauge("database_size_bytes", "Size of the database.", figures.database_bytes())


def _growth() -> Iterator[Family]:
    stored = stored_by_kind()
    by = [(kind, float(size)) for kind, (size, _rows) in stored.items()]
    yield _gauge("stored_bytes", "Bytes of tables, with their indexes, by kind.", by, "kind")
    by = [(kind, float(rows)) for kind, (_size, rows) in stored.items()]
    said = "Rows, as the database counted them last, by kind."
    yield _gauge("stored_rows", said, by, "kind")


def _mail() -> Iterator[Family]:
    found = figures.mail()
    yield _single_gauge("mail_waiting", "Mails that wait to be sent.", found["waiting"])
    said = "How long the oldest mail has been due or tried; 0 where none is late."
    yield _single_gauge("mail_overdue_seconds", said, found["oldest"] or 0.0)
    said = "Mails given up in the past day, by kind."
    yield _gauge("mail_failed_day", said, found["given_up"].items(), "kind")


def _hooks() -> Iterator[Family]:
    found = figures.hooks()
    yield _single_gauge("webhooks_waiting", "Webhook deliveries that wait.", found["waiting"])
    said = "How long the oldest delivery has waited; 0 where none does."
    yield _single_gauge("webhooks_oldest_seconds", said, found["oldest"] or 0.0)
    said = "Webhook deliveries of the past day that were given up."
    yield _single_gauge("webhooks_failed_day", said, found["failed"])


def _backup() -> Iterator[Family]:
    state = figures.last_backup()
    if state.made_at is not None:
        said = "When the last backup was made; absent: never."
        yield _single_gauge("last_backup_timestamp_seconds", said, state.made_at.timestamp())
    said = "Whether a try to make a backup failed after the last that succeeded."
    yield _single_gauge("backup_failed", said, state.failed_at is not None)
    if state.tested_at is not None:
        said = "When a backup was last restored and compared; absent: never."
        yield _single_gauge("restore_test_timestamp_seconds", said, state.tested_at.timestamp())
        said = "Whether the last restore test failed."
        yield _single_gauge("restore_test_failed", said, bool(state.test_error))


def _connections() -> Iterator[Family]:
    load = database.read_load()
    said = "Connections to the database server, by state."
    yield _gauge("database_connections", said, load.connections.items(), "state")
    said = "The most connections that the database server takes."
    yield _single_gauge("database_connections_limit", said, load.limit)
    said = "How long the longest running query has taken."
    yield _single_gauge("database_query_seconds", said, load.longest_query)
    said = "How long the longest open transaction has taken."
    yield _single_gauge("database_transaction_seconds", said, load.longest_transaction)


def _certificate() -> Iterator[Family]:
    ends = figures.certificate_end()
    if ends is not None:
        said = "When the site's certificate ends; absent: not known."
        yield _single_gauge("certificate_timestamp_seconds", said, ends.timestamp())


def _recovery() -> Iterator[Family]:
    state = figures.recovery_state()
    if state is None:
        return
    said = "The most seconds of the database that may be lost."
    yield _single_gauge("recovery_loss_seconds", said, settings.CROWDQC_RECOVERY_SECONDS)
    if state.archived_at is not None:
        said = "When the log of the database was last archived; absent: never."
        yield _single_gauge("recovery_log_timestamp_seconds", said, state.archived_at.timestamp())
    if state.base_at is not None:
        said = "When the last base backup ended; absent: never."
        yield _single_gauge("recovery_base_timestamp_seconds", said, state.base_at.timestamp())


PARTS: dict[str, Callable[[], Iterator[Family]]] = {
    "queues": _queues,
    "workers": _workers,
    "jobs": _jobs,
    "runs": _runs,
    "leases": _leases,
    "payments": _payments,
    "ledger": _ledger,
    "models": _models,
    "encoder": _encoder,
    "database": _database,
    "growth": _growth,
    "mail": _mail,
    "webhooks": _hooks,
    "backup": _backup,
    "recovery": _recovery,
    "connections": _connections,
    "certificate": _certificate,
}


def _listed(families: Callable[[], Iterator[Family]]) -> list[Family]:
    return list(families())


class Installation:
    """Collector of this installation's figures for prometheus-client."""

    def describe(self) -> list[Family]:
        """Return no descriptions, since naming metrics would read everything twice."""
        return []

    def collect(self) -> Iterator[Family]:
        """Read every part; one that fails takes no other with it."""
        up = []
        for part, families in PARTS.items():
            found = read(part, partial(_listed, families), database=part != "queues")
            up.append((part, found.value is not None))
            yield from found.value or ()
        said = "Whether this part of the metrics could be read."
        yield _gauge("part_up", said, up, "part")
