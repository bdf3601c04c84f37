"""The API against its own schema: whatever is sent by whom, it answers as it says it does.

Requests are made from the schema (schemathesis), right and wrong ones, as a worker, a
requester and a manager, into a project with one of each thing. In this process, over WSGI.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.core.cache import caches
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, openapi
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.errors import InvalidSchema
from schemathesis.core.failures import FailureGroup
from schemathesis.generation.case import Case

from annotation.models import Membership, Project, Role, User
from tests.support import factories
from tests.support.everything import everything

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Who sends how the schema wants it, and who what it forbids; one request of an operation each.
SENDERS = {
    GenerationMode.POSITIVE: ("manager", "requester", "worker"),
    GenerationMode.NEGATIVE: ("requester",),
}
NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """The schema as it is given out."""
    GENERATOR_STATS.reset()
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


@pytest.fixture
def app() -> Iterator[Any]:
    """The application as a web process has it, on this test's connection."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    logging.disable(logging.WARNING)  # of each request that is refused
    yield get_wsgi_application()
    logging.disable(logging.NOTSET)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def programs(db: None) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Ids of things that there are, and a token a role."""
    caches["shared"].clear()
    values, _ = everything()
    project = Project.objects.get(pk=values["project_id"])
    people: dict[str, User | None] = {
        "worker": Membership.objects.get(pk=values["membership_id"]).user,
        "requester": project.owner,
        "manager": project.memberships.filter(role=Role.MANAGER)[0].user,
    }
    tokens = {
        role: factories.api_token(user, per_minute=6000) for role, user in people.items() if user
    }
    yield values, tokens
    caches["shared"].clear()


def test_the_schema_is_valid_and_made_without_a_doubt(described: dict[str, Any]) -> None:
    # It builds 38 parsers when it is imported: seconds for each process that only collects tests.
    from drf_spectacular.validation import validate_schema

    validate_schema(described)
    assert not GENERATOR_STATS, GENERATOR_STATS.emit_summary()
    names = [about["operationId"] for _, about in operations(described)]
    assert len(names) == len(set(names))
    for path, about in operations(described):
        scoped = about.get("security") and about.get("x-scope")
        assert scoped or path in ("/api/token/", "/api/schema/"), path
        # Nobody gets a 401 of each of them (tests/test_access.py), and it is an error like others.
        assert not scoped or {"401", "default"} & set(about["responses"]), path


def operations(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, verbs in schema["paths"].items():
        for verb, about in verbs.items():
            if verb != "parameters":
                yield path, about


def test_whatever_is_sent_the_answer_is_one_the_schema_knows(
    described: dict[str, Any], app: Any, programs: tuple[dict[str, Any], dict[str, str]]
) -> None:
    values, tokens = programs
    load_all_checks()
    checks = CHECKS.get_by_names(NAMES)
    schema = openapi.from_dict(described)
    schema.app = app
    wrong: list[str] = []

    def ask(case: Case, role: str) -> None:
        known = {name: values[name] for name in case.path_parameters if name in values}
        case.path_parameters.update(known)
        headers = {"Authorization": f"Token {tokens[role]}"}
        point = transaction.savepoint()
        try:
            response = case.call(headers=headers)
            case.validate_response(response, checks=checks)
        finally:
            transaction.savepoint_rollback(point)

    for made in schema.get_all_operations():
        operation = made.ok()
        for kind, senders in SENDERS.items():
            if kind == GenerationMode.NEGATIVE and not list(operation.body):
                continue  # what can be wrong with an address alone is told by the right ones
            try:
                run(operation.as_strategy(generation_mode=kind), ask, senders)
            except (InvalidSchema, Unsatisfiable):
                continue  # nothing can be wrong with a request that takes nothing
            except (Exception, FailureGroup) as error:
                text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
                wrong.append(f"{operation.label} ({kind.name}): {text[:1500]}")
    assert not wrong, "\n\n".join(wrong)


def run(cases: Any, ask: Callable[[Case, str], None], senders: Sequence[str]) -> None:
    """A request by each sender, the same ones each time."""
    turn = itertools.cycle(senders)

    @settings(
        max_examples=len(senders),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=cases)
    def one(case: Case) -> None:
        ask(case, next(turn))

    one()
