"""Steps of a trace by which a model judged the others: whoever reviews it does not see them. Pure.

A queue leaves them out when it draws a trace. Of those that were drawn before, the turns that
judges made stand without their content, as reviews name turns by their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.chats.model import Chat, Turn, text_part
from annotation.chats.readers.spans import KIND_KEYS

NAME = "gen_ai.evaluation.name"
JUDGES = ("evaluator", "evaluate", "evaluation", "judge", "scorer")  # kinds of steps that judge


def is_judge(attributes: Mapping[str, Any]) -> bool:
    """Whether a step judges others, by the names of any convention."""
    return NAME in attributes or any(
        str(attributes.get(key, "")).casefold() in JUDGES for key in KIND_KEYS
    )


def with_steps_below(found: Iterable[str], parents: Mapping[str, str]) -> frozenset[str]:
    """Return these steps and all below them; none where that is the whole trace."""
    reached = set(found)
    below: dict[str, list[str]] = {}
    for step, parent in parents.items():
        below.setdefault(parent, []).append(step)
    ahead = list(reached)
    while ahead:
        new = [one for one in below.get(ahead.pop(), ()) if one not in reached]
        reached.update(new)
        ahead += new
    return frozenset(reached) if len(reached) < len(parents) else frozenset()


def hide_judges(chat: Chat) -> Chat:
    """Return a conversation without steps of judges, and without the content of their turns."""
    found = [span.id for span in chat.spans if span.attributes and is_judge(_read(span.attributes))]
    judges = with_steps_below(found, {span.id: span.parent for span in chat.spans})
    if not judges:
        return chat
    kept = tuple(span for span in chat.spans if span.id not in judges)
    made = {span.turn for span in chat.spans if span.id in judges}
    made -= {span.turn for span in kept}
    turns = tuple(
        Turn(role=turn.role, parts=(text_part(_("A step of a judge, not shown to reviewers.")),))
        if number in made
        else turn
        for number, turn in chat.numbered()
    )
    return chat.model_copy(update={"turns": turns, "spans": kept})


def _read(attributes: str) -> Mapping[str, Any]:
    try:
        found = json.loads(attributes)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
