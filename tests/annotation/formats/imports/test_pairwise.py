"""A published study in the files of CrowdRAG-25, taken in whole, once, or not at all."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.formats.actions.published.rows import BEYOND_FIVE, NOT_IN_PAPER, POSTED_AGAIN
from annotation.models import Answer, Candidate, ChoiceValue, Exclusion, Item, Project, Task
from annotation.work.selectors.log import assignment_events
from crowdqc.errors import Conflict
from tests.support import factories as make
from tests.support.studies.crowdrag_study import make_folder

pytestmark = pytest.mark.django_db


def run(*args: object) -> tuple[str, str]:
    """What the command printed: its output, and its progress."""
    out, err = StringIO(), StringIO()
    call_command("crowdqc_import", *map(str, args), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("study"))


@pytest.fixture
def imported(folder: Path) -> Project:
    user = make.make_user()
    run("crowdrag", folder, "--new-project", "Storks", "--by", user.username, "--no-runs")
    return Project.objects.get(name="Storks")


def judgments_task(project: Project) -> Task:
    return Task.objects.get(project=project, type="pairwise", source=None)


# -- a published study -------------------------------------------------------------------------


def test_a_published_study_is_taken_in_whole_and_once(folder: Path) -> None:
    user = make.make_user()
    command = ("crowdrag", folder, "--new-project", "Storks", "--by", user.username, "--no-runs")
    out, err = run(*command)
    for line in (
        "texts: 18 new, 0 there already",
        "judgments: 350 new, 0 there already",
        "model judgments: 68 new",
        "expert judgments: 12 new",
        "pilot ratings: 6 new",
        "workers: 14",
        "50 do not count",
        "published results, written",
        "Not imported here",
    ):
        assert line in out, line
    assert "judgments of people: 350 of 350" in err and "read 18 texts" in err
    models = (Answer, ChoiceValue, Candidate, Item, Task, Project, Exclusion)
    before = [model.objects.count() for model in models]
    again, _ = run(*command)
    assert [model.objects.count() for model in models] == before
    assert "Everything was there already; nothing was added." in again
    named, _ = run(
        "crowdrag",
        folder,
        "--project",
        Project.objects.get().pk,
        "--by",
        user.username,
        "--no-runs",
    )
    assert "nothing was added" in named


def test_pairs_are_items_as_they_were_shown_and_reversed_ones_repeats(imported: Project) -> None:
    task = judgments_task(imported)
    assert task.state == "closed" and task.current is not None
    settings = task.current.settings
    assert settings["dimensions"][0]["name"] == "correctness_topical"
    assert [d["neutral"] for d in settings["dimensions"]] == [True] * 6 + [False]
    assert settings["sides"] == "authored"
    items = list(Item.objects.filter(task=task).select_related("first", "second", "group"))
    assert len(items) == 60 and len({(i.first_id, i.second_id) for i in items}) == 45
    for item in items:
        left, right = (item.first, item.second) if item.side > 0 else (item.second, item.first)
        assert item.key == f"{left.key}:{right.key}"
        assert item.group.key == left.topic == right.topic
        assert item.held == item.redundancy == 5
    repeats = [item for item in items if item.repeat]
    assert len(repeats) == 15 and {item.side for item in repeats} == {-1}
    # Every answer is shown as its item says, and stored for the pair as it is stored.
    assert not Answer.objects.filter(item__task=task, item__side=1, flipped=True).exists()
    assert not Answer.objects.filter(item__task=task, item__side=-1, flipped=False).exists()


def test_who_wrote_and_who_judged_what_comes_along(imported: Project, folder: Path) -> None:
    task = judgments_task(imported)
    people = Answer.objects.filter(item__task=task, worker__isnull=False)
    assert Counter(people.values_list("counts", "uncounted_reason")) == {
        (True, ""): 300,
        (False, BEYOND_FIVE): 50,
    }
    with gzip.open(folder / "raw/study2_responses.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    letters = {"first": "A", "neutral": "N", "second": "B"}
    turned = {"first": "B", "neutral": "N", "second": "A"}
    found = people.order_by("pk").prefetch_related("choices").select_related("worker", "item")
    for row, answer in zip(rows, found, strict=True):
        words = turned if answer.flipped else letters
        said = {choice.field: words[choice.code] for choice in answer.choices.all()}
        assert answer.worker is not None and answer.worker.external_id == row["worker"]
        assert answer.order_shown == row["item_index"] - 1
        assert said["correctness_topical"] == row["validity"]
        assert said["quality_overall"] == row["quality_overall"]
    timed = [a for a in task.assignments.all() if a.opened_at]
    assert [(a.submitted_at - a.opened_at).total_seconds() for a in timed] == [1043]
    assert {(a.pay, bool(a.settled_at), a.source) for a in task.assignments.all()} == {
        (0, True, "import")
    }
    authors = Counter(Candidate.objects.values_list("origin", "author__external_id"))
    assert authors["llm", None] == 9 and sum(authors.values()) == 18 and len(authors) == 4
    sources = set(Candidate.objects.values_list("system__name", "system__prompt_strategy"))
    assert ("human", "essay") in sources and len(sources) == 6


def test_models_experts_and_the_pilot_keep_what_was_said_of_them(imported: Project) -> None:
    task = judgments_task(imported)
    calls = Answer.objects.filter(item__task=task, system__isnull=False)
    kinds = Counter(calls.values_list("system__prompt_strategy", "replicate", "flipped"))
    assert kinds["combined", 0, False] == kinds["combined", 1, True] == 15
    assert kinds["individual", 0, False] == kinds["individual", 1, True] == 15
    # A second call of a prompt is another replicate, again one for each order of the pair.
    assert kinds["combined", 2, False] + kinds["combined", 3, True] == 8 and len(kinds) == 6
    assert sum(answer.texts.count() for answer in calls) == 30 * 7
    last = calls.latest("pk")
    assert last.choices.count() == 6  # one dimension was left out, and stays missing
    experts = Task.objects.get(source=task)
    assert experts.panel is not None and experts.panel.name == "Experts"
    assert experts.panel.members.count() == 3 and experts.items.count() == 4
    excluded = experts.exclusions.get()
    assert (excluded.worker.external_id, excluded.reason) == ("annot5", NOT_IN_PAPER)
    one = experts.assignments.get(worker__external_id="annot1")
    assert (one.submitted_at - one.opened_at).total_seconds() == 240
    events = assignment_events(one.pk)
    assert [event["method"] for event in events][:5] == ["blur", "show", "click", "dwell", "blur"]
    place = {e.position: f"item-{e.item_id}" for e in one.entries.all()}
    assert [event["target"] for event in events][:4] == [place[0], place[1], place[1], place[1]]
    assert events[3]["comment"] == "60000"  # from entering the page to leaving it
    pilot = Task.objects.get(type="rating")
    rated = Answer.objects.filter(item__task=pilot)
    assert Counter(rated.values_list("counts", "uncounted_reason")) == {
        (True, ""): 4,
        (False, POSTED_AGAIN): 2,
    }


def test_a_file_that_is_wrong_is_named_with_column_and_line_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    folder, user = make_folder(tmp_path), make.make_user()
    wide = folder / "pairwise_judgments_wide.csv.gz"
    good = gzip.decompress(wide.read_bytes()).decode()
    cases = (
        (good.replace(",A,", ",X,", 1), r"1 row cannot be read(.|\n)*line 2, \w+: A label is A"),
        (good.replace("quality_overall", "quality", 1), "has no column quality_overall"),
        (
            good.replace("q0-0-0,w0-0,1,t0,", "q0-0-0,w0-0,1,t1,", 1),
            r"query_id: .*not of this topic",
        ),
        (good.replace("q0-0-0,w0-0,2", "q0-0-0,w0-0,1", 1), "position: This worker judged two"),
        (good.replace("q0-0-0,w0-0,2", "q0-0-0,w0-0,no", 1), "position: This is not a whole"),
        (good[: good.rindex(",")], r"line 351, in_artifact: The row ends"),
        ("", "has no column questionnaire_id"),
    )
    for text, why in cases:
        wide.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(CommandError, match=why) as refused:
            run("crowdrag", folder, "--new-project", "Storks", "--by", user.username)
        assert wide.name in str(refused.value)
    for content, why in (
        (gzip.compress(good.encode())[:900], "cut off or damaged"),
        (b"plain", "cannot be read"),
        (None, "There is no pairwise"),
    ):
        wide.unlink() if content is None else wide.write_bytes(content)
        with pytest.raises(CommandError, match=why):
            run("crowdrag", folder, "--new-project", "Storks", "--by", user.username)
    assert not Project.objects.exists() and not Candidate.objects.exists()


def test_a_study_that_fails_half_way_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluation.published.formats import crowdrag as published

    def broken(*args: object, **named: object) -> None:
        raise Conflict("no")

    monkeypatch.setattr(published, "import_published", broken)
    user = make.make_user()
    with pytest.raises(CommandError, match="no"):
        run("crowdrag", folder, "--new-project", "Storks", "--by", user.username)
    assert not Project.objects.exists() and not Answer.objects.exists()


def test_raw_judgments_alone_go_onto_texts_that_are_there(imported: Project, folder: Path) -> None:
    raw, by = folder / "raw/study2_responses.jsonl.gz", imported.owner.username
    out, _ = run("crowdrag-raw", raw, "--project", imported.pk, "--by", by)
    assert "350 judgments, 0 new, 350 there already" in out
    out, _ = run(
        "crowdrag-raw", raw, "--project", imported.pk, "--by", by, "--title", "Again", "--first", 0
    )
    assert "350 new" in out
    again = Task.objects.filter(versions__title="Again").get()
    assert Answer.objects.filter(item__task=again, counts=True).count() == 350
    with pytest.raises(CommandError, match="18 of 18 texts are not in the project"):
        run("crowdrag-raw", raw, "--new-project", "Empty", "--by", by)
    with pytest.raises(CommandError, match="is not a requester"):
        run("crowdrag-raw", raw, "--project", imported.pk, "--by", make.make_user().username)
    assert Project.objects.count() == 1
