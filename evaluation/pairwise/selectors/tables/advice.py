"""What to do by the grades of two groups of texts, in all styles and in each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.models import Task
from crowdqc.numbers import listed, plural
from evaluation.models import Run
from evaluation.runs.selectors import more_work
from evaluation.runs.selectors.verdicts import NextStep, Verdict

ALL_STYLES, NO_STYLE = gettext_noop("All styles"), gettext_lazy("Without a style")


def one_more_topic(task: Task) -> tuple[str, str]:
    """What one more topic costs, and whom to ask; nothing before the first version."""
    more = more_work.like_these(task, 1)
    if more is None:
        return "", ""
    told = {
        "pairs": plural(more.items, "pair"),
        "judgments": plural(more.answers, "judgment"),
        "cost": more.cost,
    }
    said = _(
        "Reading costs nothing. Add topics only if you need one answer for all styles: how many it "
        "takes is not known, and each is %(pairs)s and %(judgments)s, for %(cost)s at most."
    )
    how = _("To add topics, edit the task: you add their texts.")
    return said % told, f"{more_work.whom(task, more.each)} {how}"


def compared(
    run: Run,
    blocks: Sequence[dict[str, Any]],
    labels: Sequence[str],
    groups: tuple[str, str],
    more: tuple[str, str] = ("", ""),
) -> Verdict:
    """Whether the two groups differ, in which styles, and what to do about it.

    ``more`` says what one more topic costs, and whom to ask.
    """
    first, second = groups
    last, single = blocks[-1], [one for one in blocks[:-1] if one["differing"]]
    said = _differing(last, first, second)
    if not said:
        return Verdict("")
    found = [words for one in single for words in _better(one, labels, first, second)]
    if found:
        found.append(_("Each style is tested on its own."))
    page = reverse("pair_list", args=[run.project_id, run.task_id])
    told = {"first": first, "second": second}
    if single and not last["differing"]:
        step = NextStep(
            _by_style(blocks[:-1], first, second),
            _("Pairs to read"),
            f"{page}?run={run.number}",
            cost=more[0],
            whom=more[1],
        )
    elif last["differing"]:
        step = NextStep(
            _(
                "Choose by the dimension that matters to you: the higher grades there are a "
                "reason. Read some pairs of %(first)s and %(second)s first."
            )
            % told,
            _("Pairs to read"),
            f"{page}?run={run.number}",
            cost=_("Nothing: no more judgments are needed for that."),
        )
    else:
        step = NextStep(
            _(
                "Do not prefer %(first)s or %(second)s by these grades. Only more topics can show "
                "a difference: more votes on these topics cannot."
            )
            % told,
            cost=more[0],
            whom=more[1],
        )
    return Verdict(said, " ".join(found)).then(step)


def _by_style(blocks: Sequence[dict[str, Any]], first: str, second: str) -> str:
    """Which group to take for all styles and for each one alone."""
    said = _("For all styles, choose between %(first)s and %(second)s by cost or another reason.")
    found, alike = [said % {"first": first, "second": second}], []
    for block in blocks:
        higher = {(one.value or 0) > 0 for one in block["differences"] if one.differs}
        told = {"style": block["style"], "name": first if True in higher else second}
        if not higher:
            alike.append(block["style"])
            continue
        if len(higher) == 1:
            said = _(
                "For %(style)s alone, prefer %(name)s, but read five pairs first, to see whether "
                "the difference matters to you."
            )
        else:
            said = _(
                "For %(style)s alone, prefer the higher grades on the dimension that matters to "
                "you; read five pairs first."
            )
        found.append(said % told)
    if alike:
        said = _("For %(styles)s alone, no difference is shown: choose by cost there, too.")
        found.append(said % {"styles": listed(alike)})
    return " ".join(found)


def _better(block: dict[str, Any], labels: Sequence[str], first: str, second: str) -> Iterator[str]:
    """Which group has the higher grades on the dimensions that tell the two apart in a style."""
    for name, sign in ((first, 1), (second, -1)):
        own = [
            label
            for label, one in zip(labels, block["differences"], strict=True)
            if one.differs and sign * (one.value or 0) > 0
        ]
        if own:
            told = {"style": block["style"], "name": name, "dimensions": listed(own)}
            yield _("In %(style)s, %(name)s has higher grades on %(dimensions)s.") % told


def _differing(last: dict[str, Any], first: str, second: str) -> str:
    """On how many dimensions the tests tell the two groups of texts apart."""
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
