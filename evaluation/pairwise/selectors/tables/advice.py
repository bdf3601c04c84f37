"""What to do by the grades of two groups of texts, in all styles and in each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from crowdqc.numbers import listed
from evaluation.models import Run
from evaluation.pairwise.messages import MESSAGES
from evaluation.results.findings import Action, Finding
from evaluation.runs.selectors.verdicts import Verdict

ALL_STYLES, NO_STYLE = gettext_noop("All styles"), gettext_lazy("Without a style")


def compared(
    run: Run, blocks: Sequence[dict[str, Any]], labels: Sequence[str], groups: tuple[str, str]
) -> list[Finding]:
    """Whether the two groups differ, in which styles, and which pairs to read."""
    first, second = groups
    last, single = blocks[-1], [one for one in blocks[:-1] if one["differing"]]
    verdict = Verdict(_differing(last, first, second)).finding("groups_differ")
    if verdict is None:
        return []
    found = [verdict]
    if single or last["differing"]:
        page = reverse("pair_list", args=[run.project_id, run.task_id])
        action = Action(_("Pairs to read"), f"{page}?run={run.number}")
        found.append(MESSAGES.find("read_group_pairs", action=action, first=first, second=second))
    return [*found, *(row for one in single for row in _better(one, labels, first, second))]


def _better(
    block: dict[str, Any], labels: Sequence[str], first: str, second: str
) -> Iterator[Finding]:
    """Say which group has higher grades, on dimensions that tell the two apart in a style."""
    for name, sign in ((first, 1), (second, -1)):
        own = [
            label
            for label, one in zip(labels, block["differences"], strict=True)
            if one.differs and sign * (one.value or 0) > 0
        ]
        if own:
            yield MESSAGES.find(
                "style_differs", style=block["style"], name=name, dimensions=listed(own)
            )


def _differing(last: dict[str, Any], first: str, second: str) -> str:
    """Say on how many dimensions the tests tell the two groups of texts apart."""
    if not last["differences"]:
        return ""
    told = {
        "first": first,
        "second": second,
        "n": last["differing"],
        "all": len(last["differences"]),
        "style": last["style"],
    }
    if not last["differing"]:
        said = _("No difference between %(first)s and %(second)s is shown on any dimension.")
        if last["style"] == _(ALL_STYLES):
            said = _(
                "Over all styles, no difference between %(first)s and %(second)s is shown on any "
                "dimension."
            )
        elif last["style"] != NO_STYLE:
            said = _(
                "In %(style)s, no difference between %(first)s and %(second)s is shown on any "
                "dimension."
            )
    elif last["style"] == _(ALL_STYLES):
        said = _(
            "Over all styles, %(first)s and %(second)s are shown to differ on %(n)s of %(all)s "
            "dimensions."
        )
    elif last["style"] == NO_STYLE:
        said = _("%(first)s and %(second)s are shown to differ on %(n)s of %(all)s dimensions.")
    else:
        said = _(
            "In %(style)s, %(first)s and %(second)s are shown to differ on %(n)s of %(all)s "
            "dimensions."
        )
    return said % told
