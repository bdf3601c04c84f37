"""METEOR and embeddings beside a checklist: started from the form of a run, held against people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Candidate, Task
from annotation.pairs.actions.candidates import add_candidates
from crowdqc.errors import Invalid
from evaluation.embeddings.seq2seq import Seq2SeqModel
from evaluation.methods.text.corpus import words
from evaluation.methods.text.meteor import meteor
from evaluation.models import CandidateScore, Run, RunState
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.checklists.test_checks_runs import done
from tests.evaluation.corpora import checks as corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.evaluation.embeddings.test_seq2seq import build
from tests.evaluation.methods.text.test_meteor import build_wordnet
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
FORM = {"encoder": "char-svd", "seed": runs.DEFAULT_SEED}


def posted(task: Task, **options: str) -> tuple[Client, str, int]:
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("run_start", args=[task.project_id, task.pk]) + "?method=text_references"
    assert "Of several references the nearest counts" in html_of(client.get(address))
    response = client.post(address, {**FORM, **options})
    return client, html_of(response), response.status_code


def finished(task: Task) -> Run:
    run = Run.objects.filter(task=task, method="text_references").latest("pk")
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    run.refresh_from_db()
    return run


def test_both_measures_stand_beside_the_checklist_with_their_correlations() -> None:
    task = corpus.make_study(topics=16)
    done(task, "checklist", resamples=200)
    client, said, status = posted(task, against="others")
    assert status == 302, said
    run = finished(task)
    texts = {one.pk: one for one in Candidate.objects.filter(project=task.project_id)}
    rows = CandidateScore.objects.filter(run=run, dimension="helpfulness")
    assert rows.count() == 2 * 16 * corpus.SYSTEMS
    for row in rows.filter(component=0)[:10]:
        own = texts[row.candidate_id]
        others = [
            words(one.text) for one in texts.values() if one.topic == own.topic and one != own
        ]
        assert row.estimate == pytest.approx(meteor(words(own.text), others))
        assert row.n == corpus.SYSTEMS - 1
    told = reads.figures_of(run)["measured_against_people"]["rows"]
    found = next(
        row
        for row in told
        if (row["measure"], row["kind"], row["setting"]) == ("meteor", "spearman", "sample-level")
    )
    assert found["articles"] == 16 and found["low"] < found["estimate"] < found["high"]
    page = client.get(reverse("checklist_results", args=[task.project_id, task.pk]))
    text = text_of(html_of(page))
    assert "METEOR, without synonyms" in text and "Embedding, cosine" in text
    assert "against all other texts on the same topic" in text
    assert f"{found['estimate']:.3f}".lstrip("0").replace("-0", "−") in text
    again = done(task, "text_references", against="others", encoder="char-svd")
    assert again.result_hash == run.result_hash
    start = reverse("run_start", args=[task.project_id, task.pk])
    offered = text_of(html_of(client.get(f"{start}?method=text_references")))
    assert "Nothing new since run" in offered  # it reads texts alone
    shown = text_of(html_of(client.get(reverse("run", args=[task.project_id, run.number]))))
    assert "Texts of the task and their references" in shown and " 0 workers" not in shown
    # The checklist, scored again, is held against them too.
    compared = done(task, "checklist", resamples=200)
    series = reads.figures_of(compared)["compare"]["series"]
    assert {"METEOR, without synonyms", "Embedding, cosine"} <= {row["name"] for row in series}


def test_human_scores_that_come_later_are_held_against_them() -> None:
    task = corpus.make_study(scored=False)
    client, _, status = posted(task, against="source")
    assert status == 302
    finished(task)
    corpus.score_by_people(task)
    text = text_of(
        html_of(client.get(reverse("checklist_results", args=[task.project_id, task.pk])))
    )
    assert "METEOR, without synonyms" in text and "two readers" in text


def test_references_that_do_not_exist_are_refused_beside_the_field() -> None:
    task = corpus.make_study(topics=2)
    _, said, status = posted(task, against="people")
    assert status == 422 and "No text can be compared with texts by people" in text_of(said)
    assert not Run.objects.filter(task=task, method="text_references").exists()
    row = {"key": "own", "topic": "tea-0", "text": "Take a leaf.", "system": "a cook"}
    add_candidates(by=task.project.owner, project=task.project, rows=[{**row, "origin": "human"}])
    _, _, status = posted(task, against="people")
    assert status == 302
    run = finished(task)
    assert reads.figures_of(run)["frame"] == {
        "texts": corpus.SYSTEMS,
        "unreferenced": corpus.SYSTEMS,
        "with_human_scores": corpus.SYSTEMS,
    }


def test_models_in_folders_score_texts_beside_them(tmp_path: Path, settings: Any) -> None:
    settings.CROWDQC_ENCODER_DIRS = [str(tmp_path)]
    task = corpus.make_study(topics=2)
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("run_start", args=[task.project_id, task.pk]) + "?method=text_references"
    offered = text_of(html_of(client.get(address)))
    assert "MoverScore" in offered and "BARTScore by" not in offered and "UniEval by" not in offered
    with pytest.raises(Invalid) as refused:
        done(task, "text_references", against="others", encoder="char-svd", bart="tiny-bart")
    assert "none is installed" in refused.value.fields["bart"]
    folder = build(tmp_path / "tiny-bart")
    wordnet = build_wordnet(tmp_path / "wordnet")
    assert "BARTScore by" in text_of(html_of(client.get(address)))
    for encoder in ("char-svd", "word-tfidf", "minilm+spelling"):
        _, said, status = posted(task, against="others", mover="on", encoder=encoder)
        assert status == 422 and "MoverScore needs the tokens" in text_of(said), encoder
    named = f"path:{folder}"
    _, said, status = posted(task, against="others", unieval=named)
    assert status == 422 and "UniEval asks of summaries" in text_of(said)
    options = {"encoder": "minilm", "bart": named, "mover": "on", "against": "others"}
    options |= {"overlap": "on", "synonyms": f"path:{wordnet}"}
    client, said, status = posted(task, **options)
    assert status == 302, said
    run = finished(task)
    texts = {one.pk: one for one in Candidate.objects.filter(project=task.project_id)}
    by = {
        (row.candidate_id, row.extra["measure"]): row.estimate
        for row in CandidateScore.objects.filter(run=run)
    }
    assert len(by) == 8 * len(texts)
    model = Seq2SeqModel(folder, "bart")
    for own in list(texts.values())[:3]:
        others = [one.text for one in texts.values() if one.topic == own.topic and one != own]
        chances = model.mean_log_probability(others, [own.text] * len(others))
        assert by[own.pk, "bart"] == pytest.approx(chances.max(), abs=1e-5)
        assert 0 < by[own.pk, "mover"] <= 1
        assert 0 <= by[own.pk, "bleu"] <= by[own.pk, "rouge_l"] <= 1
        assert by[own.pk, "synonyms"] >= by[own.pk, "meteor"]
        assert 0 < by[own.pk, "bert_score"] <= 1
    figures = reads.figures_of(run)
    assert figures["recipe"]["models"] == {"bart": model.identity, "synonyms": "wordnet"}
    measures = {row["measure"] for row in figures["measured_against_people"]["rows"]}
    words_in_common = {"bleu", "rouge_l", "bert_score", "synonyms"}
    assert measures == {"meteor", "cosine", "mover", "bart"} | words_in_common
    page = client.get(reverse("checklist_results", args=[task.project_id, task.pk]))
    shown = text_of(html_of(page))
    assert "MoverScore" in shown and "BARTScore" in shown and "UniEval" not in shown
