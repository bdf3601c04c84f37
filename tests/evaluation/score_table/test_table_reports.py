"""The report of a run on a table says nothing of days and questions that the file has not."""

from __future__ import annotations

import pytest
from django.test import Client

from evaluation.bundles.makers import report_of
from evaluation.bundles.study import NOT_KNOWN, asked_lines, collection_lines, study_of
from evaluation.models import Run
from tests.evaluation.score_table.test_pages import drop, run_quickly, score
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("has_times", [False, True])
@pytest.mark.parametrize("vote", ["label", "score", "winner"])
def test_days_of_answers_are_those_of_the_file_or_not_known(vote: str, has_times: bool) -> None:
    client = Client()
    client.force_login(factories.make_user())
    sides = ",left,right" if vote == "winner" else ""
    rows = [f"worker,item{sides},{vote}" + ",timestamp" * has_times]
    for n in range(90):
        pair = ("owl", "wren") if n % 2 else ("wren", "tern")
        said = pair[n % 4 // 2] if sides else str(n % 5 + 1) if vote == "score" else "ab"[n % 2]
        cells = [f"w{n % 3}", f"i{n // 3}", *(pair if sides else ()), said]
        cells += [f"2025-03-{n // 30 + 4:02}T10:00:00Z"] * has_times
        rows.append(",".join(cells))
    score(client, drop(client, "\n".join(rows)))
    run = Run.objects.get()
    run_quickly(run)
    run.refresh_from_db()
    manifest = {"study": study_of(run), "counts": {}}
    days = dict(collection_lines(manifest))["Collected"]
    assert days == ("2025-03-04 to 2025-03-06" if has_times else NOT_KNOWN)
    version = run.task.current
    assert version is not None
    questions = [question for _, question, _ in asked_lines(version.settings, manifest)]
    assert questions and set(questions) == {NOT_KNOWN}
    text, _manifest = report_of(run)
    assert "What workers were told" not in text
