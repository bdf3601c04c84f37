"""What the parts of CrowdRAG-25's import share: titles, reasons, pairs as shown, votes on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from annotation.formats.actions.judgments import PairItem, Vote, add_items, choices_of
from annotation.formats.imports.published.crowdrag import Judgment, Pair
from annotation.formats.imports.published.study_json import Study
from annotation.models import Candidate, Membership, Task, User

TITLE = "CrowdRAG-25, pairwise judgments"
EXPERTS_TITLE = "CrowdRAG-25, experts on minimally differentiable pairs"
PILOT_TITLE = "CrowdRAG-25, point-wise pilot"
PANEL = "Experts"
MODEL = "GPT-4o"
# Why rows that were published do not count; reading the tables again goes by these words.
BEYOND_FIVE = "beyond the first five votes of its pair, left out in the published analysis"
NOT_IN_PAPER = "not among the experts of the published analysis (in_paper = 0)"
POSTED_AGAIN = "an exact re-post of an earlier submission"
Progress = Callable[[str, int, int], None]  # what, done, of how many


def fields_of(study: Study | None, **rules: Any) -> dict[str, Any]:
    """Return a task's fields from a published questionnaire; ``rules`` override them."""
    assert study is not None  # noqa: S101 (a folder without its questionnaires is refused)
    settings = {**study.settings, "show_sources": False}
    if study.type == "pairwise":
        settings |= {"sides": "authored", "show_differences": False}
    return {"instructions": study.instructions, "settings": settings, "order": "random", **rules}


def pair_key(pair: Pair) -> str:
    """Return the key of a pair as shown: "left:right"."""
    return ":".join(pair)


def pair_items(
    *, by: User, task: Task, pairs: Iterable[Pair], keys: Mapping[str, int]
) -> dict[Pair, int]:
    """Create an item for each pair as shown; return the ids.

    A pair shown both ways round gets a second item, its repeat. ``keys`` are the ids of the texts.

    ``keys`` are the ids of the texts. Returns the items' ids.
    """
    given = set(pairs)
    texts = Candidate.objects.filter(project=task.project_id, key__in={k for p in given for k in p})
    about = {
        key: (topic, query) for key, topic, query in texts.values_list("key", "topic", "query")
    }
    wanted = []
    for left, right in sorted(given, key=lambda pair: (about[pair[0]][0], pair)):
        turned, (topic, query) = keys[left] > keys[right], about[left]
        first, second = sorted((keys[left], keys[right]))
        wanted.append(
            PairItem(
                pair_key((left, right)),
                topic,
                query,
                first,
                second,
                side=-1 if turned else 1,
                repeat=turned and (right, left) in given,
            )
        )
    live = add_items(by=by, task=task, pairs=wanted, titles=dict(about.values()))
    return {pair: live[pair_key(pair)] for pair in given}


def votes_of(
    judgments: Iterable[Judgment],
    items: Mapping[Pair, int],
    keys: Mapping[str, int],
    workers: Mapping[str, Membership],
) -> list[Vote]:
    """Convert people's judgments to votes on the stored pairs, in their order."""
    found = []
    for one in judgments:
        flipped = keys[one.pair[0]] > keys[one.pair[1]]
        found.append(
            Vote(
                workers[one.worker].pk,
                items[one.pair],
                choices_of(one.labels, flipped=flipped),
                flipped,
                one.questionnaire,
                one.position - 1,
                "" if one.counted else BEYOND_FIVE,
            )
        )
    return found
