"""Pages in German and Spanish: complete catalogues, and words left behind."""

from __future__ import annotations

import ast
import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.forms import BaseForm, ChoiceField, Field, HiddenInput
from django.template.loader import render_to_string
from django.urls import get_resolver, reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.html import strip_tags
from django.utils.translation import gettext, ngettext, pgettext

from annotation.accounts.projects.consent_words import (
    COMPARED,
    PARAGRAPHS,
    WHO_RUNS,
    fill_consent,
)
from annotation.formats.exports import person
from annotation.models import User
from annotation.task_types.pairwise import type as pairwise
from annotation.task_types.pairwise.page import lines as page_lines
from crowdqc import numbers
from tests.support import bare_text, factories, messages

OURS = ("annotation.", "evaluation.", "crowdqc.")
BRANDS = ("Phoenix", "Langfuse", "LangSmith")
IN_INIT = {("AddPasskeyForm", "name")}  # allauth's fields, named when the form is made
CLOCK = "annotation/work/frame/_clock.html"
DAY = dt.date(2026, 11, 18)
NOW = dt.datetime(2026, 11, 18, 12, tzinfo=dt.UTC)
# What German and Spanish pages do not say: formal Spanish, and words of two kinds for one thing.
NOT_SAID = {
    "de": (
        r"[Gg]enehmigt|\bMitarbeiter(n|in)?\b|\bMerkmal|\b[Gg]ib\b|E-Mail Adresse|Zustimmung"
        r"|Audit-Protokoll|Wahlprotokoll|<kbd>(Ctrl|Shift|Space|Backspace|Leerzeichen)</kbd>"
    ),
    "es": (
        r"\b(usted|[Ii]ntroduzca|[Ii]ngrese|[Aa]segúrese|[Cc]ompruebe|indique|acote|Abra|Cree su)\b"
        r"|\bsu trabajo\b|[Pp]asskey|<kbd>(Shift|Space|Enter|Backspace)</kbd>|\bse requiere\b"
        r"|solicitudes por minuto|[Pp]oner (la |una )?(nueva )?contraseña"
    ),
}
# Keys whose names differ between keyboards stand in a translation (``context "key"``).
BARE_KEY = re.compile(r"<kbd>(?:Ctrl|Enter|Space|Backspace|Shift|Delete)</kbd>")
TRANSLATED = re.compile(
    r"{%\s*translate\b.*?%}|{%\s*blocktranslate\b.*?{%\s*endblocktranslate\s*%}", re.DOTALL
)
# Of Django and allauth, which say these in another address: ``crowdqc/web/library_texts.py``.
FORMS_SAY = {
    "de": {
        "Enter a valid email address.": "Geben Sie eine gültige E-Mail-Adresse an.",
        "This password is too common.": "Dieses Passwort wird zu häufig verwendet.",
    },
    "es": {
        "Enter a valid email address.": "Introduce una dirección de correo electrónico válida.",
        "This password is too common.": "Esta contraseña es demasiado común.",
    },
}
PLACEHOLDER = re.compile(r"%\((\w+)\)s|(</?[a-z]+)\b")
# The left column of the table of words: what no page, error or script says any more. Left out is
# what is also plain English elsewhere ("Leave it" of a field, "Least words" of a setting).
LEFT_BEHIND = (
    "Recorded of me",
    "Kept of the log",
    "Bring something in",
    "Take something out",
    "Say what it is about",
    "Asked again, turned",
    "Judges a pair",
    "So many a topic",
    "Balanced, incomplete",
    "By lot",
    "What an assignment is a mixture of",
    "Questions an assignment",
    "Middle time",
    "Only added to",
    "Who did what",
    "What stands here",
    "Nothing stands here",
    "Propose the ticked",
    "There are judgments enough",
    "Systems by log-merit",
    "Days that workers are promised",
    "To decide about work",
    "To answer a reply",
    "What is kept until when",
    "until somebody erases them",
    "Who is told of what",
    "nothing noted",
    "Begin the task",
    "Check as a worker",
    "What this cannot say",
    "With the others",
    "Systems told apart",
    "Make the token",
    "I don't know my password",
    "Make an account",
    "Un-iterated",
)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return dict(messages.collected())


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_every_text_is_translated(language: str, said: dict[str, Any]) -> None:
    for domain, template in said.items():
        assert messages.missing(language, domain, template) == [], "say: make messages"


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_a_translation_keeps_what_is_filled_in_and_its_marks(language: str) -> None:
    """A placeholder may be left out, where the language needs none, and none is invented."""
    for domain in messages.DOMAINS:
        for message in messages.read(language, domain):
            if not message.id:
                continue
            known = set(PLACEHOLDER.findall(" ".join(messages.texts_of(message.id))))
            for text in messages.texts_of(message.string):
                assert set(PLACEHOLDER.findall(text)) <= known, text


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_a_language_has_one_address_and_one_word_for_a_thing(language: str) -> None:
    for domain in messages.DOMAINS:
        for message in messages.read(language, domain):
            for text in messages.texts_of(message.string) if message.id else ():
                assert not re.search(NOT_SAID[language], text), text


def test_key_names_are_translated() -> None:
    bare = {
        path: found
        for path in messages.sources()["django"]
        if path.startswith("templates/")
        if (found := BARE_KEY.findall(TRANSLATED.sub("", (messages.ROOT / path).read_text())))
    }
    assert bare == {}


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_forms_of_libraries_speak_as_our_pages_do(language: str) -> None:
    with translation.override(language):
        for text, wanted in FORMS_SAY[language].items():
            assert gettext(text) == wanted
        with pytest.raises(ValidationError) as refused:
            validate_email("x@y")
        assert refused.value.messages == [FORMS_SAY[language]["Enter a valid email address."]]


def test_texts_after_a_regular_expression_are_collected() -> None:
    """Babel's reader of scripts ends at a quote within one."""
    script = 'const a = text.replace(/[&<>"]/g, ""); gettext("for print"); ngettext("1 a", "b", n);'
    assert messages._found_in(script, "static/js/a.js") == [
        (None, ("for print",)),
        (None, ("1 a", "b")),
    ]


def test_a_word_with_two_meanings_has_two_translations() -> None:
    for language, left, event, key, link in (
        ("de", "noch 29:19", "verlassen", "Enter", "Angeben"),
        ("es", "quedan 29:19", "saliste de", "Intro", "Introducir"),
    ):
        with translation.override(language):
            assert pgettext("event", "left") == event
            clock = render_to_string(CLOCK, {"seconds_left": 1759})
            assert " ".join(strip_tags(clock).split()).startswith(left)
            assert pgettext("key", "Enter") == key
            assert pgettext("payment details", "Enter") == link


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_compiled_catalogues_are_those_of_the_texts(language: str) -> None:
    for domain in messages.DOMAINS:
        kept = messages.LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
        assert kept.read_bytes() == messages.compiled(messages.read(language, domain)), (
            f"{kept.relative_to(messages.ROOT)} is old: say make messages"
        )


def test_no_page_says_what_plain_words_replaced() -> None:
    root = Path(messages.ROOT)
    left_behind = re.compile(rf"\b(?:{'|'.join(LEFT_BEHIND)})\b")
    for files in messages.sources().values():
        for path in files:
            found = left_behind.findall((root / path).read_text())
            assert not found, f"{path}: {found}"


@pytest.mark.parametrize(
    ("language", "consent", "question", "head"),
    [
        ("de", "Wer diese Studie durchführt:", "Welcher Text ist insgesamt besser?", "Ihre Daten."),
        ("es", "Quién realiza este estudio:", "¿Cuál es mejor en conjunto?", "Tus datos."),
    ],
)
def test_what_projects_begin_with_is_read_in_the_language_of_the_worker(
    language: str, consent: str, question: str, head: str
) -> None:
    who = WHO_RUNS % {"institution": "Acme Lab", "contact": "a@example.org"}
    text = "\n\n".join([who, *PARAGRAPHS, "Our own words."])
    with translation.override(language):
        shown = fill_consent(text, ["pairwise"], local=True)
        lines = page_lines({"dimensions": pairwise.DEFAULT}, {})
        readme = person.readme([], [], whole=True)
    assert consent in shown and "Acme Lab" in shown and "Our own words." in shown
    assert not any(one in shown for one in (*PARAGRAPHS, who, COMPARED))
    assert lines[0].question == question and readme.startswith(head)
    assert fill_consent(text).startswith(who)  # what the agreement is to


def test_templates_say_nothing_outside_the_translation_functions() -> None:
    """But for ``bare_text.EXCEPT``, so that nothing slips back."""
    assert bare_text.left() == []


def test_a_bare_text_is_found_wherever_it_stands() -> None:
    assert bare_text.bare_texts('<p>{% translate "Said" %} {{ name }} <code>id</code></p>') == []
    assert bare_text.bare_texts("<p>Not said, {{ name }}</p>") == ["Not said,"]
    assert bare_text.bare_texts('<input placeholder="Search" value="on">') == ["Search"]
    assert bare_text.bare_texts('{% include "a.html" with label="Go on" %}') == ["Go on"]


def test_counts_money_and_dates_follow_the_language() -> None:
    with translation.override("de"):
        assert numbers.money(1234.5, "EUR") == "1.234,50\u00a0€"
        assert numbers.plural(2, "question") == "2 Fragen"
        assert numbers.score(0.726) == "0,726"
        assert numbers.interval(0.5, 0.814) == "0,500–0,814"
        assert numbers.percent(0.79) == "79\u00a0%"
        assert numbers.duration(1.04) == "1,0\u00a0s"
        assert numbers.long_date(DAY) == "18. November 2026"
        assert numbers.short_date(DAY, today=DAY) == "18.\u00a0Nov."
        assert numbers.ago(NOW - dt.timedelta(days=3), now=NOW) == "vor 3\u00a0Tagen"
        assert numbers.ago(NOW - dt.timedelta(hours=20), now=NOW) == "vor 20\u00a0Std."
        assert numbers.duration(60) == "1\u00a0Min."
        assert numbers.written("2.5") == "2,5" and numbers.written("gut") == "gut"
    with translation.override("es"):
        assert numbers.plural(1, "question") == "1 pregunta"
        assert numbers.count(2530) == "2530" and numbers.count(12_530) == "12\u00a0530"
        assert numbers.money(1234.5, "EUR") == "1234,50\u00a0€"
        assert numbers.score(-0.5, 2) == "−0,50"
        assert numbers.long_date(DAY) == "18 de noviembre de 2026"
        assert numbers.short_date(DAY, today=DAY) == "18\u00a0nov"
        assert numbers.ago(NOW - dt.timedelta(days=1), now=NOW) == "hace 1\u00a0día"
    with translation.override("en-gb"):
        assert numbers.score(0.726) == ".726"
        assert [numbers.probability(one) for one in (0.987, 0.9951, 1.0)] == [".99", ">.99", ">.99"]
        assert numbers.percent(0.79) == "79%"
        assert numbers.long_date(DAY) == "18 November 2026"
        assert numbers.money(1234.5, "EUR") == "€1,234.50"
        assert numbers.plural(1, "question") == "1 question"


@pytest.mark.django_db
def test_the_switch_turns_sign_in_and_a_chosen_language_outlives_the_browser(client: Any) -> None:
    page = client.get(reverse("login"), headers={"accept-language": "es-MX,es;q=0.9"})
    assert 'lang="es"' in page.content.decode() and "Iniciar sesión" in page.content.decode()
    client.post(reverse("language"), {"language": "de", "next": reverse("login")})
    page = client.get(reverse("login"), headers={"accept-language": "es"}).content.decode()
    assert 'lang="de"' in page and "Passwort vergessen?" in page
    script = client.get(reverse("script_words", args=["de"])).content.decode()
    assert "Keine Textstelle" in script
    assert (
        gettext("Sign in") == "Sign in" and ngettext("a", "b", 2) == "b"
    )  # the thread is as before
    away = client.post(reverse("language"), {"language": "es", "next": "https://example.org/"})
    assert away.url == reverse("home")


@pytest.mark.django_db
@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_refused_pages_stay_in_the_reader_s_language(client: Any, language: str) -> None:
    """Also of an address that does not exist."""
    world = factories.make_world(1)
    user = world.worker.user
    assert user is not None
    User.objects.filter(pk=user.pk).update(language=language)
    client.force_login(user)
    pages = {
        reverse("project", args=[world.project.pk]): 403,
        reverse("project", args=[world.project.pk + 1]): 404,
        reverse("work_home") + "nothing/": 404,
        reverse("work_offer", args=[world.task.pk + 99]): 404,
    }
    for url, status in pages.items():
        page = client.get(url)
        assert (url, page.status_code) == (url, status)
        assert f'<html lang="{language}"' in page.content.decode()
        assert page["Content-Language"] == language
        title, heading = re.findall(
            r"<(?:title|h1)[^>]*>\s*(.*?)\s*(?:<| ·)", page.content.decode()
        )[:2]
        assert title == heading


def test_labels_choices_and_help_of_every_form_are_read_in_the_readers_language() -> None:
    get_resolver().check()  # loads every form
    forms = [one for one in _subclasses(BaseForm) if one.__module__.startswith(OURS)]
    fixed = [
        f"{form.__module__}.{form.__name__}.{name}: {text}"
        for form in forms
        for name, field in getattr(form, "base_fields", {}).items()
        for text in _fixed_texts(field)
        if (form.__name__, name) not in IN_INIT and text not in BRANDS
    ]
    assert len(forms) > 70
    assert fixed == []


def _subclasses(of: type[BaseForm]) -> Iterator[type[BaseForm]]:
    for one in of.__subclasses__():
        yield one
        yield from _subclasses(one)


def _fixed_texts(field: Field) -> Iterator[str]:
    """Yield texts of a field that were settled when the module was loaded."""
    if not isinstance(field.widget, HiddenInput) and not isinstance(field.label, Promise):
        yield f"label {field.label!r}"
    if field.help_text and not isinstance(field.help_text, Promise):
        yield field.help_text
    if isinstance(field, ChoiceField) and isinstance(field.choices, list):
        for value, label in field.choices:
            if not isinstance(label, Promise) and label != value and label.strip("—- "):
                yield label


def test_no_text_is_translated_within_an_f_string_where_no_tool_finds_it() -> None:
    names = {"_", "gettext", "ngettext", "pgettext", "gettext_noop", "gettext_lazy"}
    lost = [
        f"{path}:{call.lineno}"
        for package in ("annotation", "evaluation", "crowdqc")
        for path in sorted(Path(package).rglob("*.py"))
        for joined in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(joined, ast.JoinedStr)
        for call in ast.walk(joined)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in names
        and any(isinstance(one, ast.Constant) for one in call.args[-1:])
    ]
    assert lost == []
