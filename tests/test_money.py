"""An amount is taken as it was written, or asked back with what it may mean (161)."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError as FormError
from django.test import Client
from django.urls import reverse
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError

from crowdqc.money import NotAnAmount, format_input, parse_amount, parse_plain_amount
from crowdqc.numbers import amount, money
from crowdqc.web.fields import NumberField, PlainMoneyField
from tests.security.money.people import correct
from tests.support import factories as make

AMBIGUOUS = ("ambiguous-amount", ("1250.00", "1.25"))
CLEAR = {
    "1.250,00": "1250",
    "1,250.00": "1250",
    "1250,00": "1250",
    "1 250,00": "1250",
    "1\u00a0250,00": "1250",
    "1\u202f250": "1250",
    "1'250.00": "1250",
    "1’250": "1250",
    "1,000,000": "1000000",
    "1.000.000,5": "1000000.50",
    "12,34,567.50": "1234567.50",
    "1,8": "1.80",
    "1.80": "1.80",
    "€1.80": "1.80",
    "1,80\u00a0€": "1.80",
    "EUR 1.80": "1.80",
    "−€1.80": "-1.80",
    "１２．５０": "12.50",
    "١٬٢٥٠٫٥٠": "1250.50",
}
REFUSED = {
    "1,250": AMBIGUOUS[0],
    "1.250": AMBIGUOUS[0],
    "€1,250": AMBIGUOUS[0],
    "1.005": AMBIGUOUS[0],
    "0.125": "too-fine",
    "1250.125": "too-fine",
    "1,250.000": "too-fine",
    "1.8000": "too-fine",
    "$1.80": "other-currency",
    "CHF 5": "other-currency",
    "1e3": "not-an-amount",
    "1_000": "not-an-amount",
    "1,25,0": "not-an-amount",
    "1 25": "not-an-amount",
    "1.250,000,00": "not-an-amount",
    "½": "not-an-amount",
    "--1": "not-an-amount",
    "": "not-an-amount",
    "9" * 16: "not-an-amount",
    "9" * 5000: "not-an-amount",
}


def test_a_number_beyond_every_amount_is_out_of_range() -> None:
    for value in (1e26, -1e30, 10**30, Decimal("1e300")):
        with pytest.raises(NotAnAmount) as refused:
            parse_amount(value)
        assert refused.value.code == "out-of-range"


def test_an_amount_has_one_reading_or_is_asked_back() -> None:
    read = {text: str(parse_amount(text, "EUR", low=-(10**9))) for text in CLEAR}
    assert read == {
        text: str(Decimal(value).quantize(Decimal("0.01"))) for text, value in CLEAR.items()
    }
    codes = {}
    for text in REFUSED:
        with pytest.raises(NotAnAmount) as refused:
            parse_amount(text, "EUR", low=-(10**9))
        codes[text] = refused.value.code
    assert codes == REFUSED
    with pytest.raises(NotAnAmount) as refused:
        parse_amount("1,250", "EUR")
    assert (refused.value.code, refused.value.readings) == AMBIGUOUS
    assert all(one in refused.value.hint for one in refused.value.readings)


CENTS = st.integers(-(10**11), 10**11).map(lambda cents: Decimal(cents) / 100)
LOCALES = st.sampled_from(sorted(code for code in LANG_INFO if "name" in LANG_INFO[code]))


def read_or_ask(text: str, meant: Decimal) -> None:
    try:
        assert parse_amount(text, "EUR", low=-(10**9)) == meant
    except NotAnAmount as refused:
        assert refused.code == "ambiguous-amount", (text, refused.code)
        assert format_input(abs(meant)) in refused.readings


@settings(max_examples=300, deadline=None)
@given(CENTS, LOCALES)
def test_what_a_page_shows_in_any_language_is_read_as_the_same_amount(
    meant: Decimal, locale: str
) -> None:
    with translation.override(locale):
        assert parse_amount(amount(meant), "EUR", low=-(10**9)) == meant
        assert parse_amount(money(meant), "EUR", low=-(10**9)) == meant
        read_or_ask(money(round(meant), whole=True), Decimal(round(meant)))


WRITINGS = st.tuples(
    st.sampled_from(["", ",", ".", " ", "'", "\u00a0", "\u202f", "’"]),
    st.sampled_from([",", "."]),
    st.integers(0, 2),
).filter(lambda signs: signs[0] != signs[1])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 99), WRITINGS)
def test_no_way_of_writing_an_amount_gives_another_one(
    units: int, cents: int, signs: tuple[str, str, int]
) -> None:
    group, mark, decimals = signs
    part = f"{cents:02d}"[:decimals]
    whole = f"{units:,}".replace(",", group)
    meant = Decimal(f"{units}.{part or 0}")
    read_or_ask(f"{whole}{mark}{part}" if part else whole, meant)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**12), st.sampled_from([2, 6]))
def test_an_amount_in_an_input_is_sent_back_as_it_was(scaled: int, places: int) -> None:
    value = Decimal(scaled).scaleb(-places)
    assert parse_amount(format_input(value, places), places=places) == value


def test_programs_write_plain_decimals() -> None:
    field = PlainMoneyField(max_digits=8, decimal_places=2)
    taken = {"1250.50": "1250.50", "1.8": "1.8", 1250: "1250", 1.25: "1.25"}
    assert {raw: str(field.run_validation(raw)) for raw in taken} == {
        raw: str(field.quantize(Decimal(text))) for raw, text in taken.items()
    }
    for raw in ("1,250", "1.250", "1.250,00", "1e3", "1_000", "١", "€1", 1.255, True):
        with pytest.raises(ValidationError):
            field.run_validation(raw)
    assert parse_plain_amount("1250.50") == Decimal("1250.50")
    with pytest.raises(NotAnAmount):
        parse_plain_amount("1,250")


@pytest.mark.django_db
def test_no_form_of_money_takes_an_amount_with_two_readings(client: Client) -> None:
    world = make.make_world(2)
    project, task = world.project, world.task
    worker = make.make_worker(project)
    assignment = make.claim_and_submit(task)
    correct(world, "1.00")  # so that there are books
    books = {"task": task.pk, "debit": f"work:{task.pk}", "credit": f"worker:{worker.pk}"}
    forms: list[tuple[str, list[int], dict[str, Any], str]] = [
        ("project_settings", [project.pk], {"name": project.name, "single_approval": ""}, "budget"),
        ("task_build", [project.pk, task.pk], {"title": "T"}, "pay"),
        ("task_build", [project.pk, task.pk], {"title": "T", "quiz_items": "0"}, "quiz_pay"),
        ("payout_rule", [project.pk, task.pk], {"bonus_by": "none"}, "cap_each"),
        ("payout_rule", [project.pk, task.pk], {"bonus_by": "rank", "at_1": "1"}, "bonus_1"),
        (
            "payout_new",
            [project.pk, task.pk],
            {
                "key": uuid4(),
                "do": "propose",
                "assignment": assignment.pk,
                f"decision_{assignment.pk}": "approve",
            },
            f"bonus_{assignment.pk}",
        ),
        ("ledger_correct", [project.pk], {**books, "memo": "A mistake" * 5}, "amount"),
        (
            "models_endpoint_new",
            [project.pk],
            {"name": "E", "base_url": "https://models.example/v1", "key_kind": "none"},
            "hard_budget",
        ),
    ]
    for name, args, fields, amount_field in forms:
        client.force_login(world.manager if name == "ledger_correct" else project.owner)
        for text in ("1,250", "1.250"):
            answer = client.post(reverse(name, args=args), {**fields, amount_field: text})
            page = answer.content.decode()
            assert answer.status_code in (200, 422), (name, amount_field, answer.status_code)
            assert re.search(r"\b1250\.00\b.{1,20}\b1\.25\b", page), (name, amount_field)
    project.refresh_from_db()
    assert project.budget is None and project.ledger.count() == 1
    assert not project.payout_batches.exists() and not project.endpoints.exists()


@pytest.mark.parametrize(
    ("text", "value"),
    [("0,10", 0.1), ("0.10", 0.1), (".5", 0.5), ("1,5", 1.5), ("1e-06", 1e-6), ("-0,25", -0.25)],
)
def test_a_number_of_a_form_has_its_decimals_in_every_browser(text: str, value: float) -> None:
    field = NumberField(max_value=10_000)
    assert field.clean(text) == value
    assert 'type="text"' in field.widget.render("pay", text)


def test_a_number_with_two_readings_is_asked_back_unless_one_is_out_of_range() -> None:
    with pytest.raises(FormError) as refused:
        NumberField(max_value=10_000).clean("1,250")
    assert refused.value.error_list[0].code == "ambiguous-amount"
    assert NumberField(max_value=100).clean("1,250") == 1.25
    field = NumberField(max_value=10_000)
    for value in (0.1, 1.125, 12.5, 0.125, 123.456, 3.0, 1e-7):
        assert field.clean(str(field.prepare_value(value))) == value


def test_no_form_reads_decimals_from_an_input_of_type_number() -> None:
    """A browser makes 010 of 0,10 there."""
    forms = [
        path
        for package in ("annotation", "evaluation", "crowdqc")
        for path in Path(package).rglob("*.py")
        if re.search(r"[^(]forms\.(FloatField|DecimalField)\(", path.read_text(encoding="utf-8"))
    ]
    assert forms == []  # crowdqc.web.fields alone derives from them
    inputs = [
        tag
        for path in Path("templates").rglob("*.html")
        for tag in re.findall(r"<input[^>]*type=\"number\"[^>]*>", path.read_text(encoding="utf-8"))
        if re.search(r"step=\"(any|[\d.]*\.\d+)\"", tag)
    ]
    assert inputs == []
