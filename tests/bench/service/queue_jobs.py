"""The job of ``bench_queue``: locks its row, and does nothing where another has done it."""

from __future__ import annotations

import sys

from celery import shared_task
from django.db import connection, transaction

TABLE = "CREATE TABLE bench_jobs (id int PRIMARY KEY, done int NOT NULL, tries int NOT NULL)"


@shared_task
def count(number: int) -> None:
    """Mark the row as done, as every job of the app does: once, whoever delivers it how often."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT done FROM bench_jobs WHERE id = %s FOR UPDATE", [number])
        done = cursor.fetchone()[0]
        cursor.execute(
            "UPDATE bench_jobs SET tries = tries + 1, done = done + %s WHERE id = %s",
            [0 if done else 1, number],
        )


def send(jobs: int) -> None:
    """Make so many rows, and a job for each."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_jobs")
        cursor.execute(TABLE)
        cursor.execute(
            "INSERT INTO bench_jobs SELECT n, 0, 0 FROM generate_series(1, %s) n", [jobs]
        )
    for number in range(1, jobs + 1):
        count.delay(number)


if __name__ == "__main__":
    import django

    django.setup()
    if sys.argv[1] == "send":
        send(int(sys.argv[2]))
    else:
        from crowdqc.jobs.workers import main

        sys.exit(main(["default=1"]))
