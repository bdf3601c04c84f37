"""What the result page of a run says, for its report: the same findings and figures."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from evaluation.models import Run
from evaluation.pairwise.run import CORE
from evaluation.pairwise.selectors.agreement import agreement_facts
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.results.findings import Finding, Screen, Severity
from evaluation.runs.run_types import shared_page_of


@dataclass(frozen=True)
class ReportPage:
    """Findings of a run's shared page, and figures of its other pages as (label, text)."""

    screen: Screen = field(default_factory=Screen)
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def limits(self) -> list[Finding]:
        """Warnings, notes and further verdicts; what to do next is no part of a report."""
        return [
            one
            for one in self.screen.findings
            if one != self.screen.verdict and one.severity != Severity.ACTION
        ]


def page_of(run: Run) -> ReportPage:
    """Read what the page of a finished run says, in the language of reports."""
    shared = shared_page_of(run.method)
    with translation.override(settings.LANGUAGE_CODE):
        context = shared.context(run, 1) if shared else {}
        facts = agreement_facts(run) if run.method == CORE else []
        if len(dimensions(run.task)) > 1 and "shown" in context:
            facts.insert(0, (_("Verdict on"), context["shown"]))
    return ReportPage(context.get("screen", Screen()), tuple(facts))
