"""Examples judged by people in the prompt of a model: turns before its question.

Each example is the same prompt about another item, with what most people said as the answer. An
item is never its own example, nor is one with the same words, so that what a model says of it can
be held against people.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.utils.translation import gettext, gettext_noop

from annotation.models import Answer, ChoiceValue, Task
from crowdqc.errors import Conflict
from evaluation.embeddings.embeddings import Encoder, local_encoder
from evaluation.embeddings.vectors import vectors_of
from evaluation.llm.prompting import Rendered
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.params import choice, whole_number
from evaluation.methods.text.nearest import MEANING, NEAREST, RANDOM, WAYS, draw_examples
from evaluation.runs.adapters import adapter_of

MOST = 8
EXAMPLES = whole_number(
    "examples",
    0,
    0,
    MOST,
    label=gettext_noop("Examples judged by people"),
    help=gettext_noop(
        "Shown before each question with most people’s answer; never the item itself. 0: none."
    ),
)
EXAMPLES_BY = choice(
    "examples_by",
    NEAREST,
    WAYS,
    label=gettext_noop("Which examples"),
    words=(
        gettext_noop("The most similar in words"),
        gettext_noop("The most similar in meaning (MiniLM)"),
        gettext_noop("Random"),
    ),
)
ENCODER = "minilm"  # of examples that are similar in meaning
EXAMPLES_SEED = whole_number("examples_seed", 0, 0, 2**31)
OPTIONS = (EXAMPLES, EXAMPLES_BY, EXAMPLES_SEED)
NOT_OFFERED = {"examples": None, "examples_by": None}
Codes = Mapping[str, str | None]  # field -> what most people chose; None: nothing


@dataclass(frozen=True)
class Shown:
    """An item with its words, and a name that it shares with the same item asked again."""

    id: int
    words: str
    name: Hashable


@dataclass(frozen=True)
class Examples:
    """The examples of each item by id, the least similar first, and what people say of all.

    ``pool``: how many items may be examples.
    """

    of: Mapping[int, tuple[int, ...]]
    codes: Mapping[int, Codes]
    pool: int = 0


NONE = Examples({}, {})


def label_of(params: Mapping[str, Any]) -> str:
    """Return how the examples are named in the system's name; "" without examples."""
    n = params.get("examples", 0)
    if not n:
        return ""
    by = params["examples_by"]
    seed = f" {params['examples_seed']}" if by == RANDOM else ""
    return f", {n} {'nearest (MiniLM)' if by == MEANING else by} examples{seed}"


def choose_examples(
    task: Task,
    params: Mapping[str, Any],
    wanted: Sequence[Shown],
    known: Sequence[Shown],
    fields: Mapping[str, bool],
    *,
    encode: bool,
) -> Examples:
    """Choose examples for each ``wanted`` item among the ``known`` ones.

    ``fields``: those asked, and whether each may be left open. Examples by meaning need a model:
    a page that only foresees a run does not ``encode``, and counts with those nearest in words.
    Raises Conflict where people agree on no item yet, Invalid where there is no such model.
    """
    most = params.get("examples", 0)
    if not most or not wanted:
        return NONE
    name_of = {one.id: one.name for one in known}
    codes = _majorities(task, fields, name_of)
    at = {one.name: one for one in reversed(known)}
    pool = [at[name] for name in sorted(codes, key=lambda name: at[name].id)]
    if not pool:
        raise Conflict(
            gettext("No item has an answer of most people on every field yet: ask for no examples.")
        )
    by, sides = params["examples_by"], None
    if by == MEANING:
        encoder = local_encoder(ENCODER)
        if encode:
            sides = _vectors([one.words for one in wanted], [one.words for one in pool], encoder)
        else:
            by = NEAREST
    drawn = draw_examples(
        [one.words for one in wanted],
        [one.words for one in pool],
        most=most,
        by=by,
        vectors=sides,
        seeds=[_seed(params["examples_seed"], one.words) for one in wanted],
        same=[one.name for one in pool],
        own=[one.name for one in wanted],
    )
    # What stands last weighs most with a model, so the most similar one does.
    return Examples(
        {
            one.id: tuple(pool[k].id for k in own[::-1])
            for one, own in zip(wanted, drawn, strict=True)
        },
        {at[name].id: found for name, found in codes.items()},
        len(pool),
    )


def _vectors(
    wanted: Sequence[str], known: Sequence[str], encoder: Encoder
) -> tuple[FloatArray, FloatArray]:
    """Unit vectors of the texts on both sides, which are kept."""
    strings = list(dict.fromkeys([*wanted, *known]))
    at = {text: row for row, text in enumerate(strings)}
    matrix = np.asarray(vectors_of(strings, encoder).matrix, dtype=np.float64)
    return matrix[[at[text] for text in wanted]], matrix[[at[text] for text in known]]


def _seed(seed: int, words: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}\0{words}".encode()).digest()[:8])


def _majorities(
    task: Task, fields: Mapping[str, bool], name_of: Mapping[int, Hashable]
) -> dict[Hashable, Codes]:
    """By item: what more than half of the people who answered chose, where that holds of all."""
    answers = (
        adapter_of(task)
        .counting_rows(task)
        .filter(worker__isnull=False, stage=Answer.Stage.MAIN, item__in=list(name_of))
    )
    item_of = dict(answers.values_list("pk", "item"))
    given: dict[Hashable, dict[str, Counter[str]]] = {}
    people: Counter[Hashable] = Counter(name_of[item] for item in item_of.values())
    rows = ChoiceValue.objects.filter(answer__in=list(item_of), field__in=list(fields))
    for answer, field, code in rows.values_list("answer_id", "field", "code"):
        own = given.setdefault(name_of[item_of[answer]], {})
        own.setdefault(field, Counter())[code] += 1
    found: dict[Hashable, Codes] = {}
    for name, n in people.items():
        codes: dict[str, str | None] = {}
        for field, may_be_open in fields.items():
            counted = given.get(name, {}).get(field, Counter())
            code, times = next(iter(counted.most_common(1)), ("", 0))
            if 2 * times > n:
                codes[field] = code
            elif may_be_open and 2 * (n - counted.total()) > n:
                codes[field] = None
        if len(codes) == len(fields):
            found[name] = codes
    return found


def with_examples(prompt: Rendered, turns: Sequence[tuple[Rendered, str]]) -> Rendered:
    """Put examples before a prompt, each as a question with its answer."""
    *before, last = prompt.messages
    shown = [
        message
        for example, answer in turns
        for message in (example.messages[-1], {"role": "assistant", "content": answer})
    ]
    return replace(prompt, messages=(*before, *shown, last))


def subject_with(subject: str, kind: str, ids: Sequence[int]) -> str:
    """Append the items whose words are in the prompt to a subject, so that erasure finds them."""
    return "/".join((subject, *(f"{kind}:{pk}" for pk in ids)))
