"""Notes of the books are kept in English, and read in the reader's language."""

import ast
from pathlib import Path

import pytest
from django.utils import translation

from annotation.accounts.security.log import name_browser
from annotation.payouts.actions import statement_rows
from annotation.payouts.notes import TEMPLATES, translate_note
from crowdqc.numbers import general, percent_interval


@pytest.mark.parametrize("language", ["de", "es"])
def test_every_note_of_a_statement_is_translated(language: str) -> None:
    tree = ast.parse(Path(statement_rows.__file__).read_text())
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    said = {
        one.args[0].value
        for one in calls
        if getattr(one.func, "id", "") == "_" and isinstance(one.args[0], ast.Constant)
    }
    assert said and said <= set(TEMPLATES)
    with translation.override(language):
        for note in said:
            plain = note.replace("%(", "").replace(")s", "")
            assert translate_note(plain) != plain, plain


def test_amounts_and_numbers_of_notes_are_written_anew() -> None:
    with translation.override("de"):
        note = translate_note("fee €1,200.50, booked €0.00; ours is €0.90")
        assert "1.200,50\xa0€" in note and "0,90\xa0€" in note and "€0" not in note
        bonus = translate_note("no bonus: ranks 11–23, no step is reached in run 4")
        assert bonus == "kein Bonus: Ränge 11–23, keine Stufe in Lauf 4 erreicht"
        assert "0,850" in translate_note("lower end .850 of the score reaches .800 in run 1")
        assert translate_note("written by me") == "written by me"
    assert translate_note("ours is €0.90") == "ours is €0.90"


def test_stored_browsers_are_named_in_the_readers_language() -> None:
    with translation.override("de"):
        here = name_browser("Chrome en Linux")
        assert here == name_browser("Chrome on Linux") != "Chrome on Linux"
        assert name_browser("Una aplicación") == name_browser("A program") != "A program"
        assert name_browser("") == "" and name_browser("Firefox") == "Firefox"


def test_numbers_have_the_point_of_the_language() -> None:
    assert (general(22.5), percent_interval(0.3, 0.93)) == ("22.5", "30–93%")
    with translation.override("es"):
        assert (general(22.5), percent_interval(0.3, 0.93)) == ("22,5", "30–93\xa0%")
