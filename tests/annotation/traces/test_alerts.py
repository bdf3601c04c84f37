"""Staff is notified of silent sources and of backlogs, once each, and not of what is usual."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from annotation.models import Item, Notice, Trace, TraceSource
from annotation.traces.actions.alerts import send_alerts
from annotation.traces.actions.sources import end_source
from tests.annotation.traces.conftest import Send, chat_span
from tests.annotation.traces.test_settling import configure, queue_of, settle_all

Pair = tuple[TraceSource, str]
pytestmark = pytest.mark.django_db


def kinds() -> list[str]:
    return sorted(Notice.objects.filter(kind__startswith="traces.").values_list("kind", flat=True))


def seen(source: TraceSource, hours: float) -> None:
    moment = timezone.now() - dt.timedelta(hours=hours)
    TraceSource.objects.filter(pk=source.pk).update(last_seen_at=moment)


def test_a_source_that_falls_silent_is_reported_once_each_time(source_token: Pair) -> None:
    source = source_token[0]
    assert send_alerts() == 0  # it never sent anything
    seen(source, 23)
    assert send_alerts() == 0
    seen(source, 25)
    assert (send_alerts(), send_alerts()) == (1, 0)
    seen(source, 30)  # it sent something in between
    assert send_alerts() == 1 and kinds() == ["traces.silent"] * 2
    configure(source, silent_hours=48)
    seen(source, 47)
    assert send_alerts() == 0
    configure(source, silent_hours=0)
    seen(source, 500)
    assert send_alerts() == 0
    configure(source, silent_hours=1)
    end_source(by=source.created_by, source=source)
    assert send_alerts() == 0


def test_a_backlog_is_reported_once_a_week_by_its_age(send: Send, source_token: Pair) -> None:
    source = source_token[0]
    task = queue_of(source)
    configure(source, rules=[{"kind": "random", "share": 1}], backlog_days=3, silent_hours=0)
    send(chat_span(1, 1), chat_span(1, 2), chat_span(1, 3))
    settle_all()
    assert send_alerts() == 0
    old = timezone.now() - dt.timedelta(days=4)
    Trace.objects.filter(trace_id__endswith="1").update(settled_at=old)
    assert (send_alerts(), send_alerts()) == (1, 0)
    text = Notice.objects.get(kind="traces.backlog").text
    assert text.startswith("1 trace of “shop” has waited for reviews for more than 3 days; ")
    Notice.objects.all().delete()
    Item.objects.filter(task=task).update(held=3)
    assert send_alerts() == 0  # all reviews are there
