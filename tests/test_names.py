"""Names say what they are about: no public name consists of function words only."""

from __future__ import annotations

import ast

from tests.support.import_graph import ROOT, sources
from tests.support.names import FUNCTION_WORDS, words_of
from tests.support.source import parse_source

PACKAGES = ("crowdqc", "annotation", "evaluation")
# Methods of frameworks, and terms of the domain that rows and files hold by these names.
INTERFACES = {
    "get",
    "put",
    "all",
    "any",
    "tell",
    "take",
    "of",
    "left",
    "left_out",
    "get_by",
    "why",
    "there",
    "What",
}
# Components of the published API schema, and jobs that wait in queues under their names.
PUBLISHED = {"AboutIn", "LetInIn", "back_up_now", "not_found"}
# The same for evaluation: fields of stored data and of the published API.
EVALUATION = {"AskIn", "WayOut", "get_left_out_of", "given", "held", "with_others"}


def public_names(tree: ast.AST, owner: str = "") -> list[tuple[int, str]]:
    """List functions, classes and methods without a leading underscore, with their lines."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name.startswith("_") or node.name in (INTERFACES if owner else PUBLISHED):
                continue
            found.append((node.lineno, node.name))
            if isinstance(node, ast.ClassDef):
                found += public_names(node, node.name)
    return found


def test_public_names_have_a_noun_or_a_verb_of_their_own() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sources(*PACKAGES)
        for line, name in public_names(parse_source(path.read_text()))
        if FUNCTION_WORDS.issuperset(words_of(name))
        and not (path.is_relative_to(ROOT / "evaluation") and name in EVALUATION)
    ]
    assert not wrong
