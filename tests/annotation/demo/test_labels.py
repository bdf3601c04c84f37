"""The demo's labels: three models of which one may replace people, one may not, one is unclear."""

from __future__ import annotations

import pytest
from django.db.models import Count, Q

from annotation.demo import labels
from evaluation.replacement import selectors
from evaluation.runs import engine as runs
from evaluation.runs.selectors.lists import figures_of as runs_figures
from tests.support.demo import make_demo_labels

pytestmark = pytest.mark.django_db


def test_every_claim_is_read_against_its_entry_and_all_labels_are_deserved_by_some() -> None:
    claims = labels.load().claims
    assert len({one.key for one in claims}) == len(claims) == 240
    counts = {
        label: sum(one.truth == label for one in claims) for label, _ in labels.load()["labels"]
    }
    assert min(counts.values()) > 40
    assert all("{" not in one.text and "\n\nClaim: " in one.text for one in claims)


def test_of_the_demo_s_three_models_one_may_replace_people_one_may_not_one_is_undecided() -> None:
    task = make_demo_labels()
    given = Count("answers", filter=Q(answers__worker__isnull=False))
    people = list(task.items.annotate(n=given).order_by("position").values_list("n", flat=True))
    assert people == [5] * 120 + [0] * 120  # what people label next is still open
    run = runs.start(by=task.project.owner, task=task, method="replacement")
    assert runs.execute(run.pk) == "done"
    shown = selectors.shown_run(task)
    assert shown is not None
    told = selectors.page(shown, runs_figures(shown), model=None)
    assert {row.short: row.said for row in told["models"]} == {
        "Halcyon-7B": "Yes",
        "Orrery-M": "Not shown",
        "Pellet-3B": "No, shown to be worse",
    }
    assert [row["reason"] for row in told["combined"]] == [""] * 3
