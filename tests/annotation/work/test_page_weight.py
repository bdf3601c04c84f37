"""What a phone on a slow network loads before a worker can answer."""

from __future__ import annotations

import re

import brotli
import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from tests.support import factories

pytestmark = pytest.mark.django_db
COLD = 120_000  # bytes


def test_a_cold_worker_page_is_under_120_kilobytes_in_at_most_8_requests(
    client: Client,
) -> None:
    world = factories.make_world()
    held = factories.claim(world.task, world.worker)
    url = reverse("work_item", args=[held.pk, 1])
    client.force_login(world.worker.user)
    page = client.get(url).content.decode()
    sent = client.get(url, HTTP_ACCEPT_ENCODING="gzip")
    assert sent["Content-Encoding"] == "gzip"
    assets = re.findall(r'(?:src|href)="/static/(bundles/[\w./-]+)"', page)
    assert assets == ["bundles/worker.css", "bundles/worker.js"]
    fonts = [f"vendor/fonts/{name}-latin-wght-normal.woff2" for name in ("inter", "crowdqc-serif")]
    bodies = [(name, _read(name)) for name in (*assets, *fonts)]
    weight = len(sent.content) + sum(
        len(body) if name.endswith("woff2") else len(brotli.compress(body)) for name, body in bodies
    )
    assert weight < COLD and len(bodies) + 1 <= 8


def _read(name: str) -> bytes:
    found = finders.find(name)
    assert found is not None, name
    with open(found, "rb") as file:
        return file.read()
