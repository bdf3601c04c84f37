"""Whatever is sent, nothing fails: each refusal is a 4xx that says what is wrong (B18)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import User
from crowdqc.errors import Invalid
from crowdqc.files.json_input import DEEPEST, Unreadable, read_json
from crowdqc.numbers import LARGEST, exact, parse_real, parse_whole
from tests.support import factories as make

pytestmark = pytest.mark.django_db

HUGE = "9" * 5000
NUMBERS = (
    HUGE,
    str(2**63),
    str(2**31),
    "-1",
    "0",
    "1e999999",
    "NaN",
    "Infinity",
    "-Infinity",
    "1_000",
    "٣",
    "²",
    "0x10",
    " 7 ",
    "1.5",
    "1,5",
    "1e-999999",
    "--1",
    "+",
    "",
    "None",
    "true",
)
# Of each kind one: pages read numbers by the functions that are tried with all of them.
ON_PAGES = (HUGE, str(2**63), "-1", "1e999999", "NaN", "²", "1.5", "--1")
BODIES = (
    "[" * 100_000,
    '{"a":' * 5000 + "1" + "}" * 5000,
    "[" * 60 + "]" * 60,
    '{"name": "half \\ud800"}',
    '{"name": "nul \\u0000"}',
    '{"name": ' + HUGE + "}",
    '{"name": 1e999999}',
    '{"name": NaN}',
    '{"name": Infinity}',
    '{"\\ud800": 1}',
    "",
    "null",
    '"x"',
    "[]",
    "{",
    "\x00",
    "\udcff",
)


@pytest.fixture
def world() -> make.World:
    return make.make_world(2)


@pytest.fixture
def staff(client: Client, world: make.World) -> Client:
    client.force_login(world.requester)
    client.raise_request_exception = False
    return client


def api(user: User) -> dict[str, Any]:
    return {"HTTP_AUTHORIZATION": f"Token {make.api_token(user)}"}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_from_outside_is_whole_and_bounded_or_none(text: str) -> None:
    """Every digit string is bounded before it is read (B18)."""
    found = parse_whole(text)
    assert found is None or (0 <= found <= LARGEST and text.strip().lstrip("+").isascii())
    amount, measure = exact(text, low=-LARGEST), parse_real(text)
    assert amount is None or abs(amount) <= LARGEST
    assert measure is None or abs(measure) <= 1e15


def test_numbers_in_addresses_and_forms_never_fail(staff: Client, world: make.World) -> None:
    """Query strings, form fields and parts of paths (B18)."""
    for text in ON_PAGES:
        send_number(staff, world, text)


def send_number(staff: Client, world: make.World, text: str) -> None:
    project, task = world.project.pk, world.task.pk
    for address in (
        reverse("audit_log", args=[project]),
        reverse("task_preview", args=[project, task]),
        reverse("ledger", args=[project]),
        reverse("payment_by_hand_export", args=[project]),
        reverse("files_list", args=[project]),
    ):
        sent = dict.fromkeys(("before", "n", "page", "task", "proposal", "run", "person"), text)
        assert staff.get(address, sent).status_code < 500, (address, text)
    for name, args in (("ledger_correct", [project]), ("project_settings_kept", [project])):
        sent = dict.fromkeys(("task", "amount", "debit", "credit", "days", "key"), text)
        assert staff.post(reverse(name, args=args), sent).status_code < 500, name
    if text.isascii() and text.isdigit():
        for path in (f"/projects/{text}/", f"/work/{text}/", f"/api/projects/{text}/"):
            assert staff.get(path).status_code in (301, 302, 403, 404), path


def test_json_that_nothing_can_hold_is_refused_in_words(world: make.World) -> None:
    """Deep nesting, huge numbers, half characters and no JSON at all, on the API (B18)."""
    client, token = Client(raise_request_exception=False), api(world.requester)
    for text in BODIES:
        body = text.encode("utf-8", "surrogateescape")
        answer = client.post("/api/projects/", body, content_type="application/json", **token)
        assert answer.status_code in (400, 422), (text[:40], answer.content[:300])
        told = answer.json()
        assert told["detail"] and told["status"] == answer.status_code


def test_workers_pages_take_or_refuse_every_body(client: Client, world: make.World) -> None:
    """Drafts, logs and submits; the id of a question may have 5,000 digits (B18)."""
    lease = make.claim(world.task, world.worker)
    client.force_login(world.worker.user)
    client.raise_request_exception = False
    bodies = [body.encode("utf-8", "surrogateescape") for body in BODIES]
    bodies.append(json.dumps({"key": "x", "drafts": {HUGE: {"draft": {}, "seq": 1}}}).encode())
    bodies.append(json.dumps({"item": 2**70, "seq": 2**70, "draft": {}}).encode())
    for name in ("work_draft", "work_events", "work_submit"):
        address = reverse(name, args=[lease.pk])
        for sent in bodies:
            answer = client.post(
                address, sent, content_type="application/json", HTTP_ACCEPT="application/json"
            )
            assert 400 <= answer.status_code < 500, (name, answer.content[:300])


def test_files_name_the_row_that_cannot_be_read(world: make.World) -> None:
    """Half a character, a NUL, a deep value and an infinite number in JSONL (B18)."""
    from annotation.files.reading.sheet import read

    lines = (
        '{"item_id": "a", "answer": "\\udfff"}',
        '{"item_id": "b", "answer": "\\ud83d"}',
        '{"item_id": "c", "answer": "\\u0000"}',
        '{"item_id": ' + "[" * 9000 + "]" * 9000 + "}",
        '{"item_id": 1e999}',
        '{"item_id": Infinity}',
        '{"item_id": "good", "answer": "\\ud83d\\ude00"}',
    )
    sheet = read("\n".join(lines).encode(), "rows.jsonl")
    assert [problem.line for problem in sheet.unreadable] == [1, 2, 3, 4, 5, 6]
    assert [row.values["item_id"] for row in sheet.rows] == ["good"]
    assert "no text can hold" in sheet.unreadable[1].wrong
    with pytest.raises(Invalid, match="column 2 holds a character that no text can hold"):
        read(b'{"item_id": "a", "\\ud800": "x"}', "rows.jsonl")
    for problem in sheet.unreadable:
        (problem.value + problem.column).encode()


def test_a_body_names_the_field_that_cannot_be_stored() -> None:
    with pytest.raises(Unreadable, match=r"“rows\.1\.answer” holds half a character") as caught:
        read_json('{"rows": [{}, {"answer": "\\udfff"}]}')
    assert caught.value.fields == {"rows.1.answer": "Send whole characters."}
    deep = "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2)
    with pytest.raises(Unreadable, match="too deeply"):
        read_json(deep)
    assert read_json("[" * DEEPEST + "]" * DEEPEST)
    assert read_json('"\\ud83d\\ude00"') == "😀"
    assert read_json('"half \\ud800"', any_text=True)


def test_the_run_of_a_file_is_a_bounded_number(staff: Client, world: make.World) -> None:
    """A background file asked for by a number of 5,000 digits (B18)."""
    for number in (HUGE, 10**30, "²", True):
        answer = Client(raise_request_exception=False).post(
            f"/api/projects/{world.project.pk}/files/",
            json.dumps(
                {"what": "bundle", "form": "zip", "task": world.task.pk, "params": {"run": number}}
            ),
            content_type="application/json",
            **api(world.requester),
        )
        assert 400 <= answer.status_code < 500, answer.content[:300]


def test_forms_without_a_key_of_theirs_are_refused_in_words(
    staff: Client, world: make.World
) -> None:
    project, task = world.project, world.task
    for path in (
        reverse("task_from_template", args=[project.pk, "sentiment"]),
        reverse("task_copy", args=[project.pk, task.pk]),
        reverse("project_copy", args=[project.pk]),
    ):
        assert staff.post(path, {"key": "NaN"}).status_code == 422, path


@pytest.mark.parametrize("next_page", ["null", "admin:index", "//example.org", "x.y"])
def test_a_form_leads_back_to_addresses_of_this_site_alone(client: Client, next_page: str) -> None:
    answer = client.post(reverse("language"), {"language": "de", "next": next_page})
    assert (answer.status_code, answer["Location"]) == (302, reverse("home"))
