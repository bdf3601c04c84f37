"""Numbers, times and marks as pages write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.urls import NoReverseMatch
from django.utils import translation

from crowdqc import numbers
from crowdqc.web.templates import fold

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NB = "\u00a0"


def render(source: str, **context: Any) -> str:
    return Template(source).render(Context(context))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.871, 3, ".871"),
        (-0.1234, 2, "\u2212.12"),
        (-0.0001, 2, ".00"),
        (1.02, 2, "1.02"),
        (0.9999, 2, "1.00"),
        (None, 3, "none"),
        (float("nan"), 3, "none"),
        (Decimal("0.5"), 2, ".50"),
    ],
)
def test_a_score_drops_the_leading_zero_and_never_reads_nan(
    value: Any, digits: int, text: str
) -> None:
    assert numbers.score(value, digits) == text


def test_an_interval_with_a_negative_end_does_not_hide_its_sign() -> None:
    assert numbers.interval(0.846, 0.892) == ".846–.892"
    assert numbers.interval(-0.1, 0.2, 1) == "\u2212.1 to .2"
    assert numbers.interval(-0.4, 87.9, 1) == "\u22120.4 to 87.9"
    assert numbers.interval(None, 0.2) == "none"


@pytest.mark.parametrize(
    ("value", "text"), [(0.021, f"+{NB}.02"), (-0.3, f"\u2212{NB}.30"), (0.001, "0")]
)
def test_a_difference_shows_its_sign(value: float, text: str) -> None:
    assert numbers.format_signed(value) == text


def test_money_names_its_currency() -> None:
    assert numbers.money(Decimal("1.8"), "EUR") == "€1.80"
    assert numbers.money(Decimal("-1100"), "USD") == "\u2212$1,100.00"
    assert numbers.money(Decimal("1.8"), "CHF") == f"CHF{NB}1.80"
    assert numbers.money(Decimal("1100.4"), "EUR", whole=True) == "€1,100"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, f"1{NB}ms"),
        (0.099, f"99{NB}ms"),
        (0.0996, f"0.1{NB}s"),
        (0.3, f"0.3{NB}s"),
        (41, f"41{NB}s"),
        (59.7, f"1{NB}min"),
        (580, f"9{NB}min 40{NB}s"),
        (timedelta(hours=1, minutes=5), f"1{NB}h 05{NB}min"),
        (86400 * 3, f"3{NB}days"),
    ],
)
def test_a_duration_reads_as_people_say_it(seconds: Any, text: str) -> None:
    assert numbers.duration(seconds) == text


def test_a_clock_never_runs_below_0() -> None:
    assert numbers.clock(41 * 60 + 12) == "41:12"
    assert numbers.clock(3723) == "1:02:03"
    assert numbers.clock(-5) == "0:00"


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(seconds=2), f"2{NB}s ago"),
        (timedelta(minutes=41), f"41{NB}min ago"),
        (timedelta(days=1), f"1{NB}day ago"),
        (timedelta(days=4, hours=3), f"4{NB}days ago"),
        (timedelta(days=10), f"11{NB}Nov"),
        (timedelta(days=400), f"17{NB}Oct 2025"),
        (-timedelta(minutes=5), f"in 5{NB}min"),
    ],
)
def test_times_are_told_from_now_and_then_by_date(before: timedelta, text: str) -> None:
    assert numbers.ago(NOW - before, now=NOW) == text


def test_a_day_names_its_year_only_where_it_is_another() -> None:
    assert numbers.short_date(date(2026, 11, 2), today=NOW.date()) == f"2{NB}Nov"
    assert numbers.short_date(date(2025, 11, 2), today=NOW.date()) == f"2{NB}Nov 2025"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7e-7, f"7{NB}×{NB}10⁻⁷"),
        (1e-6, "10⁻⁶"),
        (9.96e-7, "10⁻⁶"),
        (1e-4, ".0001"),
        (0.01, ".01"),
        (1.0, "1"),
    ],
)
def test_small_numbers_are_powers_of_ten(value: float, text: str) -> None:
    assert numbers.power_of_ten(value) == text


def test_a_long_text_of_an_item_shows_its_beginning_and_its_end() -> None:
    text = f"Source: {'a ' * 200}Claim: bees sleep"
    shown = render("{{ text|cut_middle:60 }}", text=text)
    assert shown.startswith("Source: a a") and shown.endswith("Claim: bees sleep")
    assert len(shown) <= 60 and render("{{ text|cut_middle:60 }}", text="a" * 60) == "a" * 60


def test_filters_and_tags_need_no_load() -> None:
    page = (
        "{{ s|score }} {% interval low high 2 %} {{ p|percent }} {% share 75 96 %} "
        '{{ n|plural:"answer,answers" }} {{ four|word }} {{ h|short_hash }}'
    )
    text = render(page, s=0.871, low=0.1, high=0.25, p=0.61, n=1272, four=4, h="9f3ac1e7ffff")
    assert text == (
        '.871 <data value="0.1|0.25">.10–.25</data> 61% 78% 1,272 answers four 9f3ac1e7'
    )


def test_a_mark_without_a_word_beside_it_has_a_name() -> None:
    assert 'role="img" aria-label="Look"' in render('{% mark "warn" "Look" %}')
    assert "aria-hidden" in render('{% mark "warn" %}')
    with pytest.raises(TemplateSyntaxError, match="No mark"):
        render('{% mark "bright" %}')


def test_a_state_escapes_what_it_is_told() -> None:
    html = render('{% state "open" word sentence %}', word="<b>", sentence="a & b")
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html


@pytest.mark.parametrize(("done", "total", "value"), [(75, 96, "75"), (120, 96, "96"), (5, 0, "0")])
def test_a_bar_is_never_fuller_than_full(done: int, total: int, value: str) -> None:
    html = render("{% progress done total %}", done=done, total=total)
    assert f'value="{value}"' in html
    assert "style" not in html


def test_a_heat_cell_finds_its_step() -> None:
    steps = [render("{{ v|heat }}", v=v) for v in (0, 0.09, 0.24, 0.5, 0.9, -0.2, None)]
    assert steps == ["h0", "h1", "h2", "h5", "h5", "h0", "h0"]


def test_the_recipe_is_copied_as_one_line() -> None:
    html = render('{% include "_includes/recipe.html" %}', recipe=[("seed", 7), ("method", "A&B")])
    assert 'data-copy="seed 7; method A&amp;B"' in html


def test_an_error_row_without_a_value_says_empty() -> None:
    rows = [{"line": 42, "column": "resp", "value": "", "wrong": "No text.", "mend": "Write it."}]
    html = render('{% include "_includes/forms/error_rows.html" %}', rows=rows)
    assert '<span class="cell">empty</span>' in html


MIXED = (
    '{% load static %}<link href="{% static "css/base.css" %}">{% comment %}no{% endcomment %}'
    '{% mark "bad" _("Error") %}{% if n %}<b>{% translate "Next" %}</b> {% translate own %}'
    '{% else %}{% mark "done" %}{% blocktranslate %}Continue{% endblocktranslate %}{% endif %}'
    "{% blocktranslate %}Question {{ n }} of {{ total }}{% endblocktranslate %}"
    '{% autoescape off %}{% translate "Back" %}&{{ own }}{% endautoescape %}'
    '{% url "work_item" n total %} {% url "login" %} {% url "manual_page" own %}'
    "{% for one in many %}{% static one %} {% translate one %}{% endfor %}"
)


def test_a_page_reads_the_same_where_its_fixed_parts_are_written_once() -> None:
    plain, folded = Template(MIXED), Template(MIXED)
    fold(folded.nodelist)
    assert len(folded.nodelist) == 10 < len(plain.nodelist)
    for language in ("en-gb", "de", "en-gb"):
        for n, own, many in ((0, "<Skip>", ["Back"]), (2, "Next", []), (3, "Skip", ["Skip", "é"])):
            told = {"n": n, "own": own, "many": many, "total": 4}
            with translation.override(language):
                assert folded.render(Context(told)) == plain.render(Context(told))
    with pytest.raises(NoReverseMatch):
        folded.render(Context({"n": 1, "own": "a", "total": "b"}))
    with translation.override("de"):
        assert "Weiter" in folded.render(Context({"n": 1, "own": "a", "total": 2}))
