"""Models judge: pairs both ways round, answers and texts from 0 to 100, beside what people say."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, ChoiceValue, System, Task
from evaluation.models import AnswerScore, CandidateScore, Run, RunState, SystemScore, WorkerScore
from evaluation.runs import engine as runs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.llm_runs.test_answering import asked, finished, prompt_of
from tests.support.pages import findings_in
from tests.support.servers.llm import Body, make_model, serving

pytestmark = pytest.mark.django_db
QUICK = {"restarts": 2, "draws": 0, "resamples": 100}


def always_a(body: Body) -> str:
    """A judge that prefers whatever stands first."""
    if "clarity (" in prompt_of(body):
        return '{"clarity": "A", "overall": "A"}'
    return '{"winner": "A"}'


def by_source(body: Body) -> str:
    """A judge that prefers the text of the lower source number, whichever way round."""
    left, right = re.findall(r"says source (\d)\.", prompt_of(body))[::3][:2]
    letter = "A" if left < right else "B"
    if "clarity (" in prompt_of(body):
        return f"Clarity: {letter}\noverall: {letter}"
    return f"I would say {letter}"


def judge(task: Task, base_url: str, *modes: str, form: str = "json_schema") -> list[Run]:
    """Runs of one model in these modes, and then the board anew."""
    model = make_model(task.project, base_url, form=form)
    made = [finished(task, "judge_pairs", model=model.pk, mode=mode) for mode in modes]
    finished(task, "pairwise", **QUICK)
    return made


def html(task: Task, name: str, **query: str) -> str:
    client = Client()
    client.force_login(task.project.owner)
    response = client.get(reverse(name, args=[task.project_id, task.pk]), query)
    assert response.status_code == 200
    return response.content.decode()


def page(task: Task, name: str, **query: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html(task, name, **query)).split())


def test_a_judge_that_prefers_what_stands_first_is_shown_to_contradict_itself() -> None:
    task = pair_corpus.make_judged(task=pair_corpus.make_task(topics=2, sources=3))
    with serving(always_a) as stub:
        run = judge(task, stub.base_url, "combined")[0]
    assert run.state == RunState.DONE, run.error
    pairs = task.items.count()
    assert len(stub.asked) == 2 * pairs
    votes = Answer.objects.filter(system__name="stub-1")
    assert votes.filter(flipped=True, replicate=1).count() == pairs
    assert votes.filter(flipped=False, replicate=0).count() == pairs
    # Said of A: of the first as stored, of the second the other way round.
    codes = ChoiceValue.objects.filter(answer__in=votes, field="overall")
    assert set(codes.values_list("answer__flipped", "code")) == {(False, "first"), (True, "second")}
    assert asked(run)["same"] == [
        {"dimension": "clarity", "pairs": pairs, "same": 0},
        {"dimension": "overall", "pairs": pairs, "same": 0},
    ]
    shown = page(task, "pair_judges")
    assert f"same label in both orders on 0% of {pairs} pairs" in shown.replace("\xa0", " ")
    assert "one of the boards has all systems equal" in shown
    assert "Test the model" not in shown
    core = task.runs.filter(method="pairwise").first()
    core.workerscore_rows.filter(dimension="overall").update(n=30)
    assert "Test the model" in page(task, "pair_judges")


def test_combined_and_individual_are_two_judges_with_boards_beside_that_of_people() -> None:
    task = pair_corpus.make_judged(task=pair_corpus.make_task(topics=10, sources=3))
    with serving(by_source) as stub:
        combined, single = judge(task, stub.base_url, "combined", "individual", form="text")
        sent = len(stub.asked)
        again = finished(task, "judge_pairs", model=single.params["model"], mode="individual")
    pairs = task.items.count()
    assert sent == 2 * pairs + 2 * 2 * pairs
    assert (combined.error, single.error) == ("", "")
    names = System.objects.filter(name="stub-1").values_list("prompt_strategy", flat=True)
    assert sorted(names) == ["judge combined@1, t=0", "judge individual@1, t=0"]
    assert asked(single)["counts"]["answered"] == 2 * pairs
    assert asked(again)["counts"]["there"] == 2 * pairs
    assert len(stub.asked) == sent
    core = task.runs.filter(method="pairwise").first()
    taus = core.figures.get(name="judge_tau").data
    every = [row for row in taus if not row["dimension"]]
    assert len(every) == 2
    for row in every:
        assert row["systems"] == 3 and row["topics"] == 10
        assert row["low"] <= row["tau"] <= row["high"]
    shown = page(task, "pair_judges", dimension="overall")
    assert "stub-1, judge combined@1, t=0" in shown
    assert "Kendall’s τ with people’s board" in shown


def test_a_vote_of_which_one_dimension_failed_is_not_stored_and_is_asked_again() -> None:
    task = pair_corpus.make_task(topics=1, sources=3)
    broken = {"on": True}

    def answer(body: Body) -> str:
        if broken["on"] and "aspect to judge: Clarity" in prompt_of(body):
            return "neither, as it were"
        return '{"winner": "B"}'

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "judge_pairs", model=model.pk, mode="individual")
        assert asked(run)["counts"]["answered"] == 0
        assert asked(run)["counts"]["failed_calls"] == 6
        assert not Answer.objects.filter(system__name="stub-1").exists()
        broken["on"] = False
        run = finished(task, "judge_pairs", model=model.pk, mode="individual")
    assert asked(run)["counts"] | {"answered": 6, "cached": 6} == asked(run)["counts"]


def test_points_come_from_a_second_try_or_are_the_flagged_middle() -> None:
    task = corpus.make_answered()
    tries: dict[str, int] = {}

    def answer(body: Body) -> str:
        prompt = prompt_of(body)
        tries[prompt] = tries.get(prompt, 0) + 1
        if "red brick" in prompt:
            return "I would rather not say."
        if "grey granite" in prompt and tries[prompt] == 1:
            return "Very good indeed!"
        return json.dumps({"score": 90 if "Rapeseed" in prompt or "granite" in prompt else 40})

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url, form="text")
        run = finished(task, "judge_points", model=model.pk, resamples=200)
    assert run.state == RunState.DONE, run.error
    scores = AnswerScore.objects.filter(run=run)
    assert scores.count() == Answer.objects.filter(item__task=task).count()
    lost = scores.filter(extra__defaulted=True)
    assert lost.exists() and set(lost.values_list("estimate", flat=True)) == {50.0}
    assert asked(run)["counts"]["defaulted"] == lost.count()
    assert set(tries.values()) == {1, 2}
    assert all(n == 2 for prompt, n in tries.items() if "red brick" in prompt)
    workers = WorkerScore.objects.filter(run=run)
    assert workers.filter(low__isnull=False).exists()
    few = workers.get(worker__external_id="two-answers")
    assert few.low is None and few.extra["no_interval"]
    assert SystemScore.objects.filter(run=run).count() == 3


def test_the_judges_board_stands_beside_that_of_aqer_with_their_agreement() -> None:
    task = corpus.make_answered()
    with serving(lambda body: f'{{"score": {len(prompt_of(body)) % 90}}}') as stub:
        model = make_model(task.project, stub.base_url)
        finished(task, "judge_points", model=model.pk, resamples=200)
    before = page(task, "point_judges")
    assert "AQER has not run yet" in before
    assert "run_own_method" in findings_in(html(task, "point_judges"))
    # The run ranks its board by pairs; single intervals are not held against one another.
    assert "highest mean points" not in before
    runs.start(by=task.project.owner, task=task, params={"encoder": "char-svd", "resamples": 200})
    runs.execute(task.runs.latest("pk").pk)
    make_official(task.runs.latest("pk"))
    shown = page(task, "point_judges")
    assert "stub-1" in shown and "Spearman’s ρ" in shown
    assert "compare_own_board" in findings_in(html(task, "point_judges"))
    assert "Tern-2" in shown and "defaulted" in shown


def test_texts_under_judgment_get_points_on_each_dimension() -> None:
    task = pair_corpus.make_task(topics=2, sources=3)

    def answer(body: Body) -> str:
        source = int(re.findall(r"says source (\d)", prompt_of(body))[0])
        return json.dumps({"score": 80 - 10 * source})

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "judge_points", model=model.pk)
    assert run.state == RunState.DONE, run.error
    assert CandidateScore.objects.filter(run=run, dimension="clarity").count() == 6
    board = SystemScore.objects.filter(run=run, dimension="overall").order_by("-estimate")
    assert [row.estimate for row in board] == [80, 70, 60]
    assert board[0].extra["no_interval"] == "2 topics; an interval needs 5"
    assert any("Which is better?" in prompt_of(body) for body in stub.asked)


def test_without_an_endpoint_the_page_says_what_can_be_done() -> None:
    shown = page(corpus.make_answered(), "point_judges")
    assert "No model has given points" in shown
    assert "Without a model, the task’s own method ranks the same workers" in shown


def test_the_pages_ask_the_database_as_often_for_many_as_for_few() -> None:
    counts = []
    for topics, sources in ((1, 3), (2, 4)):
        task = pair_corpus.make_judged(task=pair_corpus.make_task(topics=topics, sources=sources))
        with serving(by_source) as stub:
            judge(task, stub.base_url, "combined", form="text")
        with serving(lambda body: '{"score": 70}') as stub:
            model = make_model(task.project, stub.base_url, name="points-1")
            finished(task, "judge_points", model=model.pk)
        client = Client()
        client.force_login(task.project.owner)
        for name in ("pair_judges", "point_judges"):
            address = reverse(name, args=[task.project_id, task.pk])
            client.get(address)
            with CaptureQueriesContext(connection) as asked_for:
                client.get(address)
            counts.append(len(asked_for))
    assert counts[:2] == counts[2:]


def test_newer_votes_than_the_run_shown_are_told_with_the_way_to_show_them() -> None:
    task = pair_corpus.make_judged(task=pair_corpus.make_task(topics=1, sources=3))
    finished(task, "pairwise", **QUICK)
    with serving(always_a) as stub:
        model = make_model(task.project, stub.base_url)
        finished(task, "judge_pairs", model=model.pk)
    shown = page(task, "pair_judges")
    assert "stub-1, judge combined@1, t=0 has given 6 votes since run 1" in shown
    assert "answers_since_run" in findings_in(html(task, "pair_judges"))
    assert "No model has judged" not in shown and "Ask a model" not in shown
