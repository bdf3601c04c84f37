"""Names say what they are about: no public name consists of function words only."""

from __future__ import annotations

import ast
import re

from tests.support.import_graph import ROOT, sources

PACKAGES = ("crowdqc", "annotation")  # evaluation joins when its names are done
FUNCTION_WORDS = frozenset(
    """
    a about above after again all also an and any are as ask asked asks at back be been before being
    below between both but by can come comes could did do does done down each either ever every few
    for found from gave get give given gives go goes gone got had has have held here hold how
    if in into is it its just kept keep left less let made many may might more most much
    must never no none nor not now of off often on once one ones only or other others out over put
    said same say says seen shall should so some still such take taken takes tell tells than that
    the their them then there these they this those though to told too under until up very was way
    were what when where whether which while who whole whom whose why will with within without would
    yet
    """.split()
)
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


def words_of(name: str) -> list[str]:
    """Split a name into its lower-case words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


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
        for line, name in public_names(ast.parse(path.read_text()))
        if FUNCTION_WORDS.issuperset(words_of(name))
    ]
    assert not wrong
