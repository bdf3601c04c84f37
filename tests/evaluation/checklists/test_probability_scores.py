"""BARTScore and UniEval by an endpoint: values by hand, what is refused, and where they stand."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.models import Candidate, ItemGroup, Task
from annotation.pairs.actions import checklist_items
from annotation.pairs.actions.candidates import add_candidates
from crowdqc.errors import Conflict, Invalid
from evaluation.checklists.filled import probability_scores
from evaluation.checklists.filled.probability_scores import text_log_probabilities
from evaluation.llm.completion import PromptToken
from evaluation.models import CandidateScore, LLMCall, Run, RunState
from evaluation.runs import engine as runs
from evaluation.runs.selectors.words import results_url
from tests.evaluation.checklists.test_checks_runs import done, model_of, told
from tests.evaluation.corpora import checks as corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.support.factories import make_project
from tests.support.pages import findings_in, html_of
from tests.support.servers.llm import Body, Chances, Fault, serving

OPTIONS = {"measure": "unieval", "dimension": "", "against": "source"}


def tokens(*pairs: tuple[str, float | None]) -> list[PromptToken]:
    return [PromptToken(*pair) for pair in pairs]


def test_only_tokens_that_begin_in_the_text_count() -> None:
    echoed = tokens(("<s>", None), ("A ", -9.0), ("b: ", -8.0), ("one ", -1.0), ("two", -3.0),
                    (" more", -7.0))  # fmt: skip
    assert text_log_probabilities(echoed, "A b: ", "one two") == [-1.0, -3.0]
    # A token over the border begins before the text.
    border = tokens(("A", -9.0), (" b: one ", -8.0), ("two", -3.0))
    assert text_log_probabilities(border, "A b: ", "one two") == [-3.0]


def test_a_prompt_that_does_not_come_back_whole_has_no_score() -> None:
    assert text_log_probabilities([], "A b: ", "one") == []
    assert text_log_probabilities(tokens(("one", -1.0)), "A b: ", "one") == []
    assert text_log_probabilities(tokens(("A b: ", -1.0), ("one", None)), "A b: ", "one") == []


def words_score(text: str) -> float:
    """The stub's mean log-probability of a text: a tenth of the mean length of its tokens."""
    pieces = text.split(" ")
    lengths = [len(piece) + 1 for piece in pieces[:-1]] + [len(pieces[-1])]
    return -sum(lengths) / len(lengths) / 10


@pytest.mark.django_db
def test_bartscore_is_the_mean_log_probability_of_the_text_after_its_reference() -> None:
    task = corpus.make_study(topics=2)
    with serving(lambda body: "unused") as stub:
        model = model_of(task.project, stub.base_url)
        run = done(task, "probability_scores", model=model.pk, measure="bart", against="source")
        texts = list(Candidate.objects.filter(project=task.project_id))
        assert len(stub.asked) == len(texts) == 2 * corpus.SYSTEMS
        before = {body["prompt"].split("\n\nSummary:\n")[0] for body in stub.asked}
        assert before == {"All about tea-0.", "All about tea-1."}
        assert all(body["echo"] and body["logprobs"] for body in stub.asked)
        done(task, "probability_scores", model=model.pk, measure="bart", against="source")
        assert len(stub.asked) == len(texts)  # what was answered is not asked again
    rows = {row.candidate_id: row for row in CandidateScore.objects.filter(run=run)}
    for text in texts:
        # The stub's last token before "End" is the text's last word without a space.
        assert rows[text.pk].estimate == pytest.approx(words_score(text.text))
        assert rows[text.pk].dimension == "helpfulness" and rows[text.pk].n == 1
    assert told(run, "against_people")["helpfulness"]["rows"]
    assert told(run, "asked")["measure"] == "BARTScore, against the source of each text"
    client = Client()
    client.force_login(task.project.owner)
    done(task, "checklist", resamples=200)
    page = client.get(reverse("checklist_results", args=[task.project_id, task.pk]))
    assert "BARTScore, against the source of each text" in text_of(html_of(page))


@pytest.mark.django_db
def test_of_several_references_the_likeliest_counts_and_each_is_named() -> None:
    task = corpus.make_study(topics=1)
    with serving(lambda body: "unused") as stub:
        model = model_of(task.project, stub.base_url)
        run = done(task, "probability_scores", model=model.pk, measure="bart", against="others")
        assert len(stub.asked) == corpus.SYSTEMS * (corpus.SYSTEMS - 1)
    assert {row.n for row in CandidateScore.objects.filter(run=run)} == {corpus.SYSTEMS - 1}
    subjects = set(run.uses.values_list("subject", flat=True))
    assert all("/text:" in subject for subject in subjects)  # erasing follows both texts


def yes_by_words(body: Body) -> Chances:
    """Yes with .6 of .8 where the note has a leaf, with .2 of .8 where not; .2 goes elsewhere."""
    yes = 0.6 if "leaf" in body["messages"][-1]["content"] else 0.2
    return Chances("Yes", {"Yes": yes, "No": 0.8 - yes, "Perhaps": 0.2})


@pytest.mark.django_db
def test_unieval_is_the_chance_of_yes_against_no() -> None:
    task = corpus.make_study(topics=2)
    with serving(yes_by_words) as stub:
        model = model_of(task.project, stub.base_url, logprobs=True)
        run = done(
            task,
            "probability_scores",
            model=model.pk,
            measure="unieval",
            dimension="Coherence",
            against="source",
        )
        asked = {body["messages"][-1]["content"] for body in stub.asked}
    texts = {one.pk: one.text for one in Candidate.objects.filter(project=task.project_id)}
    assert any(
        one.startswith(
            f"question: Is this a coherent summary to the document?\n\nsummary: {texts[min(texts)]}"
            "\n\ndocument: All about tea-0."
        )
        for one in asked
    )
    for row in CandidateScore.objects.filter(run=run):
        expected = 0.75 if "leaf" in texts[row.candidate_id] else 0.25
        assert row.estimate == pytest.approx(expected, abs=1e-6) and row.dimension == "coherence"
    # Nobody scored coherence by hand, so no board has the run: its page says where the scores are.
    client = Client()
    client.force_login(task.project.owner)
    page = html_of(client.get(results_url(run)))
    assert "scored_without_people" in findings_in(page)
    assert reverse("run_export", args=[task.project_id, run.number]) in page


@pytest.mark.django_db
def test_unieval_of_fluency_is_the_mean_of_sentences() -> None:
    project = make_project()
    row = {"key": "tea-9-0", "topic": "tea-9", "system": "a cook"}
    add_candidates(
        by=project.owner,
        project=project,
        rows=[{**row, "text": "Take a leaf. Wait for it. Drink."}],
    )
    text = Candidate.objects.get(project=project)
    task = checklist_items.make_task(
        by=project.owner,
        project=project,
        title="Is it fluent?",
        dimension="Fluency",
        questions=corpus.QUESTIONS,
        version=0,
        texts=[text],
    )
    ItemGroup.objects.filter(task=task).update(passage="All about tea.")
    tasks.publish(by=project.owner, task=task)
    with serving(yes_by_words) as stub:
        model = model_of(task.project, stub.base_url, logprobs=True)
        run = done(
            task,
            "probability_scores",
            model=model.pk,
            measure="unieval",
            against="source",
        )
        assert len(stub.asked) == 3
    found = CandidateScore.objects.get(run=run, candidate=text)
    assert found.estimate == pytest.approx((0.75 + 0.25 + 0.25) / 3, abs=1e-6)


@pytest.mark.django_db
def test_what_cannot_be_asked_is_refused_before_a_run() -> None:
    task = corpus.make_study(topics=1)
    with serving(yes_by_words) as stub:
        silent = model_of(task.project, stub.base_url)
        telling = model_of(task.project, stub.base_url, logprobs=True)

        def plan(**params: Any) -> Any:
            return probability_scores.plan(task, {**OPTIONS, "model": telling.pk, **params})

        with pytest.raises(Invalid, match="for these dimensions alone"):
            plan()
        with pytest.raises(Invalid, match="of the source of each text"):
            plan(dimension="coherence", against="others")
        with pytest.raises(Invalid, match="tells no probabilities"):
            plan(dimension="coherence", model=silent.pk)
        with pytest.raises(Conflict, match="No text can be compared"):
            plan(dimension="fluency", against="people")
        assert stub.asked == []


@pytest.mark.django_db
def test_an_endpoint_without_echo_ends_the_run_after_one_question() -> None:
    task: Task = corpus.make_study(topics=1)
    raw = b'{"choices": [{"text": "End", "logprobs": null}]}'
    with serving(lambda body: Fault(raw=raw)) as stub:
        model = model_of(task.project, stub.base_url)
        run = runs.start(
            by=task.project.owner,
            task=task,
            method="probability_scores",
            params={"model": model.pk, "measure": "bart", "against": "source"},
            lane=str(model.pk),
        )
        assert runs.execute(run.pk) == RunState.FAILED
        assert len(stub.asked) == 1
    assert "does not repeat the prompt" in Run.objects.get(pk=run.pk).error
    assert LLMCall.objects.filter(uses__run=run).count() == 1
