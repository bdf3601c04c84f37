"""The peer of the web benchmarks: one read and one insert, without middleware."""

from __future__ import annotations

import os

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

ITEM = int(os.environ.get("BENCH_ITEM", "1"))


def read_and_insert(request: HttpRequest) -> HttpResponse:
    """Read one question's counter and write one row of the audit log."""
    from annotation.models import AuditEntry, Item

    held = Item.objects.values_list("held", flat=True).get(pk=ITEM)
    entry = AuditEntry.objects.create(action="bench", detail={"held": held})
    return JsonResponse({"id": entry.pk})


urlpatterns = [path("", read_and_insert)]
