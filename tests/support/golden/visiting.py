"""Follow links as somebody, without a browser; nothing that a request changes outlives it."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.core.cache import caches
from django.db import transaction
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import Resolver404, resolve

from annotation.models import User
from tests.support.golden import reading
from tests.support.golden.comparing import Records
from tests.support.golden.fixed import fixed

# Addresses that end or change a session, or that are the same on every instance.
LEFT_OUT = {
    "logout",
    "account_logout",
    "manual",
    "manual_page",
    "api_docs",
    "script_words",
    "language",
}
# What is simulated for whoever opens it takes seconds, and is no result: some of the demo suffice.
SIMULATED = {"task_plan", "task_precision", "task_exclude"}
BROKEN = 599  # of a file that breaks off while it is written


@dataclass(frozen=True)
class Limits:
    """How many addresses are opened: of a pattern within a task, of a pattern, and of a name."""

    of_task: int
    of_pattern: int
    of_name: int


LIMITS = Limits(2, 6, 12)
FILES = Limits(12, 24, 120)  # of addresses that answer with files


@dataclass(frozen=True)
class Pattern:
    """What addresses of one kind have in common: a name, and which options are given."""

    name: str
    options: tuple[str, ...]
    task: str
    module: str

    @property
    def in_all(self) -> tuple[str, tuple[str, ...]]:
        return self.name, self.options


def pattern_of(address: str) -> Pattern | None:
    """The pattern of an address; None where nothing of ours is there."""
    parts = urlsplit(address)
    try:
        match = resolve(parts.path)
    except Resolver404:
        return None
    if match.url_name is None or match.url_name in LEFT_OUT:
        return None
    kinds = [str(match.kwargs[one]) for one in ("kind", "what", "form") if one in match.kwargs]
    options = tuple(sorted(parse_qs(parts.query, keep_blank_values=True)))
    # Parts of a page are pages of their own.
    parts_of = [
        f"{one}={'/'.join(values)}"
        for one, values in sorted(parse_qs(parts.query).items())
        if one in ("view", "part", "table", "what")
    ]
    task = str(match.kwargs.get("task_id", match.kwargs.get("number", "")))
    return Pattern(
        ".".join([match.url_name, *kinds, *parts_of]), options, task, match.func.__module__
    )


def natural(address: str) -> list[tuple[int, str]]:
    """A key that sorts 2 before 10."""
    return [(int(one), "") if one.isdigit() else (-1, one) for one in re.split(r"(\d+)", address)]


@dataclass
class Visitor:
    """Somebody who opens what is linked from the addresses where they start."""

    who: str
    user: User | None
    starts: Collection[str]
    limits: Limits = LIMITS
    results_only: bool = False  # files and pages of results, without those of the other side
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))
    records: Records = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    _seen: Counter[Any] = field(default_factory=Counter)
    _files: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.user is not None:
            self.client.force_login(self.user)

    def ask(self, address: str) -> tuple[HttpResponseBase, bytes]:
        """The answer to one request, and its whole body; what it changed is undone."""
        fixed.begin(f"{self.who} {address}")
        caches["default"].clear()
        with transaction.atomic():
            answer, content = self._get(address)
            if fixed.jobs.work():  # a page that waits for a job shows what it brought
                answer, content = self._get(address)
            transaction.set_rollback(True)
        return answer, content

    def _get(self, address: str) -> tuple[HttpResponseBase, bytes]:
        answer: Any = self.client.get(address)
        try:
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        except Exception as fault:  # as somebody meets it: a file that ends early
            content = f"{type(fault).__name__}: {fault}".encode()
            answer.status_code = BROKEN
        return answer, content

    def record(self, address: str) -> list[str]:
        """Record one address; where it leads to."""
        began = time.process_time()
        answer, content = self.ask(address)
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        found: dict[str, Any] = {"status": answer.status_code, "type": kind}
        led: list[str] = []
        if answer.headers.get("Location"):
            found["location"] = answer.headers["Location"]
            led.append(answer.headers["Location"])
        if answer.status_code == BROKEN:
            kind = "text/plain"
            found["broken"] = content.decode()
        found |= reading.body(kind, content)
        if kind == "text/html":
            led += reading.links(content.decode(), address)
        pattern = pattern_of(address)
        if pattern is not None:
            self.seconds[pattern.name.partition(".")[0]] += time.process_time() - began
            if kind != "text/html" and answer.status_code == 200:
                self._files.add(pattern.name.partition(".")[0])
        self.records[self.who, address] = found
        return led

    def follow(self) -> None:
        """Record the starts, what they link to, and so on; of each pattern so many addresses."""
        waiting = sorted(set(self.starts), key=natural)
        known = set(waiting)
        while waiting:
            led: set[str] = set()
            for address in waiting:
                if self._wants(address):
                    led.update(self.record(address))
            waiting = sorted(led - known, key=natural)
            known |= led

    def visit_unlinked(self, addresses: Iterable[str], *, is_new: bool) -> None:
        """Record addresses to which no link led; ``is_new``: it did once, so the record says so."""
        for address in sorted(set(addresses), key=natural):
            if (self.who, address) not in self.records:
                self.record(address)
                if is_new:
                    self.records[self.who, address]["not linked"] = True

    def _wants(self, address: str) -> bool:
        pattern = pattern_of(address)
        if pattern is None or (self.who, address) in self.records:
            return False
        name = pattern.name.partition(".")[0]
        if self.results_only and address not in self.starts:
            of_results = pattern.module.startswith("evaluation") and name not in SIMULATED
            if not of_results and "export" not in name:
                return False
        limits = FILES if name in self._files else self.limits
        counted = {
            pattern: limits.of_task,
            pattern.in_all: limits.of_pattern,
            name: limits.of_name,
        }
        if any(self._seen[one] >= most for one, most in counted.items()):
            return False
        self._seen.update(counted.keys())
        return True
