"""What publishing a draft comes to: whom it reaches, what it costs, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from annotation.accounts.projects.actions import current_consent_text, is_usual_consent
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.authoring.selectors.cost import Cost
from annotation.authoring.selectors.progress import budget_of, progress_of
from annotation.authoring.selectors.rewording import (
    Rewording,
    Wording,
    asks_otherwise,
    open_answers_of,
    rewording_of,
)
from annotation.pair_design import tell_groups
from annotation.panels.selectors import count_able_workers
from crowdqc.money import ZERO
from crowdqc.numbers import several


@dataclass(frozen=True)
class Gap:
    """Something that is missing: in words, and where it is mended."""

    sentence: str
    action: str
    url: str
    blocks: bool = False  # nothing is published before it is mended


class Publishing:
    """A draft about to be published."""

    def __init__(self, build: Build, wording: str = "") -> None:
        """Read ``build`` as published with this ``wording``, a value of Wording or ""."""
        self.build, self.task, self.version = build, build.task, build.version
        self.wording = wording

    @cached_property
    def cost(self) -> Cost:
        """What filling every slot takes."""
        items = self.build.counted_items
        return self.build.cost(
            open_answers_of(self.task, self.version, items, self.rewording, self.wording)
        )

    @cached_property
    def workers(self) -> int:
        """Workers who may take the task."""
        return count_able_workers(self.task)

    @cached_property
    def rewording(self) -> Rewording:
        """What is worded otherwise than in the published version."""
        return rewording_of(self.task, self.version)

    @cached_property
    def keeps_answers(self) -> bool:
        """Whether it is settled that earlier answers still count, whatever is chosen."""
        open_choice = self.rewording.fields and self.wording != Wording.SPELLING
        return not open_choice and not asks_otherwise(self.task, self.version, self.wording)

    @property
    def question_count(self) -> int:
        """Fields, dimensions or scales of each item; 0 where an item is one question."""
        return len(self.build.type.lines(self.version.settings))

    @property
    def fee(self) -> Decimal:
        """The platform's fee on what is still to come and on what waits for a decision."""
        return self.further_cost - self.cost.money.in_progress - self.cost.open_pay

    @property
    def further_cost(self) -> Decimal:
        """The cost at most of what is still to come, with fees."""
        return self.cost.ahead

    @property
    def total(self) -> Decimal:
        """The cost at most, with fees, and with the work that is done."""
        return self.cost.cost_limit

    @cached_property
    def budget_left(self) -> Decimal | None:
        """What would be left of the budget, with all work of other tasks paid; None without one."""
        tasks = list(self.task.project.tasks.select_related("current"))
        budget = budget_of(self.task.project, [one for one in tasks if one.current_id])
        if budget is None:
            return None
        others = progress_of([one for one in tasks if one.pk != self.task.pk])
        return budget - sum((one.cost_limit for one in others), ZERO) - self.total

    @cached_property
    def gaps(self) -> list[Gap]:
        """What is missing, first what must be there."""
        return self._needed() + self._wanted()

    @property
    def required(self) -> list[Gap]:
        """What must be mended first."""
        return [gap for gap in self.gaps if gap.blocks]

    @property
    def optional(self) -> list[Gap]:
        """What is missing and may be."""
        return [gap for gap in self.gaps if not gap.blocks]

    def _part(self, part: str, question: str = "", text: str = "") -> str:
        place = {"part": part, "question": question, "text": text}
        query = urlencode({name: value for name, value in place.items() if value})
        return reverse("task_build", args=[self.task.project_id, self.task.pk]) + f"?{query}"

    def _needed(self) -> list[Gap]:
        return [
            Gap(
                f"{lack.sentence}.",
                _("Add"),
                self._part(lack.part, lack.question, lack.text),
                blocks=True,
            )
            for lack in self.build.missing()
        ]

    def _wanted(self) -> list[Gap]:
        project, version = self.task.project, self.version
        found: list[Gap] = []
        if self.budget_left is not None and self.budget_left < 0:
            url = reverse("project_settings", args=[project.pk])
            found.append(Gap(_("The project’s budget is too small."), _("Change budget"), url))
        if not version.instructions.strip():
            found.append(Gap(_("No instructions."), _("Write them"), self._part("text")))
        if is_usual_consent(current_consent_text(project)):
            url = reverse("project_settings_consent", args=[project.pk])
            url += f"?task={self.task.pk}#who"
            found.append(Gap(_("The consent names no institution and no contact."), _("Add"), url))
        takes_known = self.build.type.known_fields(version.settings)
        if takes_known and not self.build.known.exists():
            noun = several(self.build.type.known_noun)
            said = _("No %(nouns)s: you cannot see who reads with care.") % {"nouns": noun}
            found.append(Gap(said, _("Add"), self._part(self.build.type.known_part)))
        pairs = PairBuild(self.build).summary if self.build.type.pairs_texts else None
        if pairs and (apart := tell_groups(pairs.sources.groups)):
            found.append(Gap(apart, _("Change pairs"), self._part("pairs")))
        if 0 < self.workers < version.redundancy:
            said = ngettext(
                "%(needed)s workers are needed per %(noun)s; %(able)s can take the task.",
                "%(needed)s workers are needed per %(noun)s; %(able)s can take the task.",
                self.workers,
            ) % {
                "needed": version.redundancy,
                "noun": pgettext("noun", self.build.noun),
                "able": self.workers,
            }
            found.append(
                Gap(said, _("Invite workers"), reverse("invitation_new", args=[project.pk]))
            )
        return found
