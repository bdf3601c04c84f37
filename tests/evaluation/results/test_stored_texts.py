"""Texts that runs store: each fits a template, and is read in the language of the page."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest
from django.utils import translation

from evaluation.methods.core.params import Param
from evaluation.registry import IMPORTED
from evaluation.results import stored_texts
from evaluation.results.stored_texts import translate_figures, translate_stored, values_in
from evaluation.runs import run_types
from evaluation.runs.progress import step_of
from evaluation.runs.selectors.verdicts import why_not_exact
from tests.support import messages

METHODS = Path(messages.ROOT) / "evaluation" / "methods"
# Modules that hold no text of a result.
PURE = ("text", "simulation", "core/params.py", "writing/signals.py", "registry.py")
# Errors that end a run or its form, and never become a reason.
REFUSALS = (
    *("BadParameter", "BadShape", "BadVector", "ValueError", "TypeError", "UnknownIndex"),
    *("DuplicateAnswer", "Cancelled", "NotImplementedError", "Confounded"),
)
# Calls and keywords whose texts are no sentences of a result.
CALLS = (
    *("step", "compile", "split", "join", "index_array", "startswith", "partition"),
    *("as_method", "DataError"),
)
KEYWORDS = ("label", "help", "words", "title", "items", "players", "internal")
# What a value is written as, by the end of its name; a number else.
FILLED = {
    **dict.fromkeys(("noun", "name", "units"), "workers"),
    **dict.fromkeys(("reason", "problem", "few", "text", "said", "one", "note"), "no votes"),
}


FORMATTED = {"name": "MACE", "differ": 7, "items": 30, "share": 0.1}
# Parts of texts, and refusals of data that no run has.
EXCEPT = (
    "items with marks",
    "groups of conversations",
    "shared texts",
    "scored explanations",
    "the first side",
    "the second side",
    "the weight",
    "workers, first",
    "workers, second",
    "a merit, the side or the ties have no finite best value on these comparisons, since ",
    "they all point one way: ",
    "no votesset regularisation to 7 or more",
    "no votesleave the side term out, count ties as half wins, or collect more votes",
    "and 7 more",
    " and 7 more",
    "Dawid and Skene's",
    "quantiles of the sampled posterior, if 7 model holds",
    "7 answer7; an interval needs 7",
    "7 workers7; an interval needs 7",
    "7 7",
    "7: 7",
    "7: 7.",
    "7 7 7",
    "no votess",
    "no votes7",
    "no votes_n",
    "7\nno votes",
    " and worker",
    "se low high compare_low compare_high rank rank_low rank_high group",
    "words, lists, headings or bold text",
    "7, since the system nearly always decides them (7)",
    "7, since the two texts of each pair do not differ in 7",
    "it needs 7 items that people and the model answered",
    "no votes, and there are 7",
    "the rarer of two values",
    "other values than the usual one",
    "people gave no votes 7 times, and 7 are needed",
    "the labelled items are 7 than the others: models disagree by 7 on them and by 7 on the others",
    "in the class",
    "outside the class",
    "people labelled 7 items 7, and 7 are needed",
    "the items that people labelled 7 are of no votes",
    "two drawn items are the least",
    "two items with labels of people and two without are the least",
    "one judge and two items without labels of people are the least",
    "there are 7 7 to draw from, fewer than asked",
    "no ties",
    "estimated labels",
)


def test_a_text_is_translated_whole_with_its_values() -> None:
    with translation.override("de"):
        assert translate_stored("29 items; an interval needs 30") == (
            "29 Einträge; ein Intervall braucht 30"
        )
        assert translate_stored("quality: no gold labels, since no votes.") == (
            "quality: keine geschätzten Labels, denn keine Stimmen."
        )
        assert translate_stored("No votes.") == "Keine Stimmen."
        for unknown in ("", "written by somebody", "no interval for a: because of that", "7 cats"):
            assert translate_stored(unknown) == unknown
        figures = {"a": [{"reason": "no votes", "name": "no votes"}], "b": [1.0], "why": ""}
        assert translate_figures(figures)["a"] == [{"reason": "keine Stimmen", "name": "no votes"}]
    assert translate_stored("no votes") == "no votes"


@pytest.mark.parametrize(
    "said",
    [
        "1 answer; an interval needs 5",
        "12 workers, but a few did most of the work: as much as 2.4 equally active ones; an "
        "interval needs 3",
        "3 labels with another label than the commonest; an interval needs 5",
        "all dimensions: no board of systems, since all 3 comparisons are ties: there is nothing "
        "to rank.",
        "no control for length and style, since the system nearly always decides them (lists, "
        "words)",
        "a merit, the side or the ties have no finite best value on these comparisons, since they "
        "all point one way: set regularisation to 0.1 or more",
        "quantiles of the sampled posterior, if Dawid and Skene's model holds",
        "The workers fall into 12 parts that share no pair (of 3, 2, 2, 2, 2, 2, 2, 2, 2, 2 and 2 "
        "more workers): competence does not compare across them.",
        "people gave the rarer of two values 3 times, and 8 are needed",
        "the labelled items are harder than the others: models disagree by 0.30 on them and by "
        "0.10 on the others",
        "people labelled 3 items in the class, and 5 are needed",
        "the items that people labelled outside the class are of 3 topics; an interval needs 10",
        "Items of one topic are alike: 3 topics; an interval needs 10.",
        "it needs 60 items that people and the model answered, and there are 12",
        "no intervals and no ranges of ranks: 2 workers; an interval needs 5",
        "one of them gave one label throughout",
        "topic and worker",
        "10 draws of each size",
        "427 from the cache, 0 new",
        "converged, 12 rounds on 2 boards",
    ],
)
def test_texts_of_parts_are_translated(said: str) -> None:
    for language in messages.LANGUAGES:
        with translation.override(language):
            assert translate_stored(said) != said, language


def test_numbers_are_written_as_the_language_does() -> None:
    said = "the intervals of 2 of 30 workers are not settled after 1,000 draws: with another seed"
    with translation.override("de"):
        assert "1.000 Ziehungen" in translate_stored(f"{said} a bound may move by 0.05")
        assert "0,05" in translate_stored(f"{said} a bound may move by .05")


@pytest.mark.parametrize("language", ["en-gb", *messages.LANGUAGES])
def test_a_verdict_reads_the_units_of_a_reason_in_each_language(language: str) -> None:
    with translation.override(language):
        reason = translate_stored("4 topics; an interval needs 10")
        assert values_in("%(count)s; an interval needs %(least)s", reason) is not None
        assert "10" in why_not_exact(reason) and reason not in why_not_exact(reason)


def test_matching_takes_less_than_a_millisecond_a_text() -> None:
    with translation.override("de"):
        translate_stored("warm up: the patterns")
        began = perf_counter()
        for n in range(200):
            translate_stored(f"a text of {n} words that no template fits: at all; or ever")
        assert perf_counter() - began < 0.2


def test_forms_and_recipes_have_a_translation_for_what_methods_call_their_options() -> None:
    said = messages.collected()["django"]
    kinds = [*run_types.run_types().values(), *IMPORTED.values()]
    for kind in kinds:
        texts = [kind.recipe.title, str(kind.what), kind.made_of, *kind.steps]
        texts += [text for one in kind.options.options for text in _texts_of(one)]
        lacking = [
            one for one in texts if one and one not in NAMES_OF_MEASURES and not said.get(one)
        ]
        assert lacking == [], kind.slug
    listed = {str(one) for one in stored_texts.OPTIONS}
    options = {one.name.replace("_", " ") for kind in kinds for one in kind.options.options}
    assert options - listed - SYMBOLS == set()


NAMES_OF_MEASURES = ("BLEU1", "BLEU4", "ROUGE-L", "BERTScore")
SYMBOLS = {"bart", "bleu1", "bleu4", "chai", "f1", "mover", "rasa", "rouge l", "roy", "unieval"}


def _texts_of(param: Param) -> tuple[str, ...]:
    return (param.label, param.help, *param.words)


def test_what_methods_write_fits_a_template() -> None:
    with translation.override("de"):
        lacking = [
            f"{path.relative_to(METHODS)}: {said}"
            for path in sorted(METHODS.rglob("*.py"))
            if not str(path.relative_to(METHODS)).startswith(PURE)
            for said in dict.fromkeys(_sentences(ast.parse(path.read_text())))
            if said not in EXCEPT and not _is_known(said)
        ]
    assert lacking == []


def _is_known(said: str) -> bool:
    """Whether a text fits a template, or is a stage that the page of a run names."""
    said = said.format_map(FORMATTED) if "{name}" in said else said
    return stored_texts._find(said) is not None or step_of(said) in stored_texts.FORMS


def _sentences(node: ast.AST) -> Iterator[str]:
    """Texts of several words in a module, but for docstrings, refusals and options."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Raise) and _called(node.exc) in REFUSALS:
        return
    if _called(node) in CALLS:
        return
    if isinstance(node, ast.keyword) and node.arg in KEYWORDS:
        return
    said = _written(node)
    if said is not None:
        if " " in said.strip():
            yield said
        return
    for child in ast.iter_child_nodes(node):
        yield from _sentences(child)


def _called(node: ast.AST | None) -> str:
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _written(node: ast.AST) -> str | None:
    """Return a text with something in place of its values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else _value(one) for one in node.values
        )
    return None


def _value(node: ast.AST) -> str:
    assert isinstance(node, ast.FormattedValue)
    said = ast.unparse(node.value)
    if said.startswith("count_in_words"):
        return "7 workers"
    name = said.rpartition(".")[2]
    return FILLED.get(name, "61%" if "%" in ast.unparse(node) else "7")
