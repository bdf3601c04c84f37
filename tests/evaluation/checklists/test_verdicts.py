"""What the scores of a filled checklist allow to conclude."""

from __future__ import annotations

from django.utils.safestring import SafeString

from annotation.models import Task
from evaluation.checklists.selectors.checks import Board, Line
from evaluation.checklists.selectors.verdicts import follows


def correlated(low: float | None, articles: int) -> Board:
    rho = {"estimate": 0.97, "low": low, "high": 0.99, "articles": articles, "undefined": 0}
    line = Line("people", "", 1, True, rho | {"setting": "sample-level"}, {}, SafeString())
    return Board("fluency", "Fluency", "people", SafeString(), [line])


def test_a_checklist_with_few_sources_is_not_called_a_failure() -> None:
    task = Task(pk=1, project_id=1)
    few = follows(task, [correlated(None, 2)])
    assert few.sentence == "With only 2 sources nobody can tell yet whether the checklist works."
    assert "ρ .97" in few.note and "It takes 5 sources" in few.note
    assert few.next is not None and few.next.url.endswith("?part=texts")
    assert "each of at least 3 more sources" in few.next.sentence
    assert follows(task, [correlated(-0.1, 9)]).sentence.startswith("It is not shown")
    assert follows(task, [correlated(0.5, 9)]).sentence == "Scores of people follow human scores."
