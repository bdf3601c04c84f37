"""A project's own prompts: written, previewed, tried on one item, and named by the runs."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Role, System, Task
from crowdqc.errors import Invalid
from evaluation.checklists.making import actions
from evaluation.llm.own.actions import save_prompt
from evaluation.llm.own.purposes import PLACES, PURPOSES
from evaluation.llm.own.selectors import starts, template_of
from evaluation.llm.own.text import check_texts
from evaluation.llm_runs import start as ask_start
from evaluation.models import LLMCall, OwnPrompt, Run, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import checks, thinking
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.llm_runs.test_answering import asked, finished, prompt_of
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers.llm import Body, make_model, serving

pytestmark = pytest.mark.django_db
TEXT = "Q: {{question}}\n{{?passage}}From: {{passage}}\n{{/passage}}In one word."


def write(
    task: Task, user: str = TEXT, *, name: str = "mine", purpose: str = "answer"
) -> OwnPrompt:
    return save_prompt(
        by=task.project.owner,
        project=task.project,
        name=name,
        purpose=purpose,
        system="",
        user=user,
    )


def signed_in(task: Task) -> Client:
    client = Client()
    client.force_login(task.project.owner)
    return client


def test_a_prompt_written_in_the_browser_is_previewed_tried_and_run_as_it_was_shown() -> None:
    task = factories.make_task(n=2)
    client, project = signed_in(task), task.project.pk
    new = reverse("models_prompt_new", args=[project])
    form = html_of(client.get(f"{new}?for=answer&from=answer_concise@1"))
    assert "{{question}}" in form and "When did the bridge open?" in form
    response = client.post(
        f"{new}?for=answer", {"title": "One word", "name": "mine", "system": "", "user": TEXT}
    )
    at = reverse("models_prompt", args=[project, OwnPrompt.objects.get().pk])
    assert response.headers["Location"] == at
    with serving(lambda body: "The answer is: storks") as stub:
        model = make_model(task.project, stub.base_url)
        item = task.items.order_by("position")[1]
        chosen = {"task": task.pk, "model": model.pk, "subject": f"item:{item.pk}"}
        filled = f"Q: {item.question}\nFrom: {factories.PASSAGE}\nIn one word."
        shown = client.get(at, chosen).context["shown"].sample
        assert shown == [{"role": "user", "content": filled}] and not stub.asked
        tried = client.post(reverse("models_prompt_try", args=[*at_args(at)]), chosen)
        run = Run.objects.get()
        assert "every 1s" in html_of(client.get(tried.headers["Location"].split("#")[0]))
        runs.execute(run.pk)
        page = html_of(client.get(tried.headers["Location"].split("#")[0]))
        assert "storks" in page and "cost €0.00002" in page and "every 1s" not in page
        assert [prompt_of(body) for body in stub.asked] == [filled]
        assert System.objects.count() == 0  # nothing is stored as an answer
        run = finished(task, "answers", model=model.pk, strategy="own:mine@1")
        assert run.state == RunState.DONE, run.error
        assert filled in [call.messages[0]["content"] for call in LLMCall.objects.all()]
        assert len(stub.asked) == 2  # the one that was tried is not asked and paid for again
    digest = template_of(OwnPrompt.objects.get()).digest
    assert run.params["strategy"] == "own:mine@1"
    assert asked(run)["prompts"] == {"own:mine@1": digest}
    assert System.objects.get().prompt_strategy == "own:mine@1, t=0"


def at_args(url: str) -> list[str]:
    return [part for part in url.split("/") if part.isdigit()]


def test_an_answer_that_no_run_could_read_is_shown_with_the_reason() -> None:
    task = pair_corpus.make_task(topics=1, sources=2)
    prompt = write(task, "{{left}} or {{right}}? {{dimensions}}", purpose="pair_all")
    client = signed_in(task)
    with serving(lambda body: "hard to say") as stub:
        model = make_model(task.project, stub.base_url, form="text")
        run = ask_start.start(
            by=task.project.owner,
            task=task,
            method="try_prompt",
            raw={"prompt": "own:mine@1", "model": model.pk},
        )
        runs.execute(run.pk)
    at = reverse("models_prompt", args=[task.project_id, prompt.pk])
    page = html_of(client.get(at, {"run": run.number}))
    assert "A run could not read this answer: There is no letter for clarity." in page


def test_editing_a_used_prompt_makes_the_next_version_and_leaves_the_run_alone() -> None:
    task = factories.make_task(n=1)
    first = write(task)
    assert write(task, f"{TEXT}!").pk == first.pk  # nobody has used it yet
    with serving(lambda body: "storks") as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk, strategy="own:mine@1")
        second = write(task, "Say it: {{question}}")
        again = finished(task, "answers", model=model.pk, strategy="own:mine@2")
    first.refresh_from_db()
    assert (first.version, first.user, second.version) == (1, f"{TEXT}!", 2)
    texts = {call.prompt: call.messages[0]["content"] for call in LLMCall.objects.all()}
    assert texts["own:mine@1"].endswith("In one word.!")
    assert texts["own:mine@2"].startswith("Say it: ")
    assert asked(run)["prompts"] == {"own:mine@1": template_of(first).digest}
    assert asked(again)["counts"]["answered"] == 1  # another version is another system
    said = AuditEntry.objects.filter(action__startswith="prompt.").order_by("pk")
    assert [one.action for one in said] == ["prompt.add", "prompt.change", "prompt.add"]


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("a\nsee {{qestion}}", "Line 2, character 5: {{qestion}} is not offered here"),
        ("{{question.__class__}}", "{{question.__class__}} is not offered here"),
        ("{{left}} {{question}}", "Line 1, character 1: {{left}} is not offered here"),
        ("{{passage}}", "Missing: {{question}}"),
        ("{{?passage}}{{question}}{{/passage}}", "Missing: {{question}}"),
        ("{{question}} {{?passage}} x", "{{?passage}} is never closed"),
        ("{{question}} {{ x", "Line 1, character 14: “{{” is not closed"),
        ("{{?passage}}{{?topic}}{{/topic}}{{/passage}}{{question}}", "cannot begin inside"),
    ],
)
def test_a_placeholder_that_is_not_offered_is_refused_by_name_and_position(
    user: str, why: str
) -> None:
    with pytest.raises(Invalid) as refused:
        check_texts(PURPOSES["answer"], "", user)
    assert why in refused.value.fields["user"]


def test_texts_of_documents_cannot_bring_placeholders_in() -> None:
    task = factories.make_task(n=1)
    item = task.items.get()
    prompt = template_of(write(task, "{{question}} and {{passage}}"))
    sent = prompt.render(question="{{passage}} {{?passage}}", passage="{{question}}")
    assert sent.messages[0]["content"] == "{{passage}} {{?passage}} and {{question}}"
    assert item.question  # an offered placeholder that is empty is left out
    assert prompt.render(question="why", passage="").messages[0]["content"] == "why and"


def test_a_prompt_for_something_else_is_refused_where_a_run_is_started() -> None:
    task = pair_corpus.make_task(topics=1, sources=2)
    write(task, "{{left}} {{right}} {{label}}", purpose="pair_one")
    raw = {"model": make_model(task.project, "http://127.0.0.1:9/v1").pk, "prompt": "own:mine@1"}
    with pytest.raises(Invalid) as refused:
        ask_start.prepare(task=task, method="judge_pairs", raw=raw)
    assert "these options ask for “Judge a pair on all dimensions" in refused.value.fields["prompt"]
    ready = ask_start.prepare(task=task, method="judge_pairs", raw={**raw, "mode": "individual"})
    assert {ask.prompt.ref for ask in ready.plan.asks} == {"own:mine@1"}
    with pytest.raises(Invalid):
        ask_start.prepare(task=task, method="judge_pairs", raw={**raw, "prompt": "own:mine@9"})


def test_points_are_given_by_an_own_prompt_and_the_form_lists_it() -> None:
    task = corpus.make_answered()
    write(task, "Score {{answer}} to {{question}}", purpose="point_answer")

    def score(body: Body) -> str:
        assert prompt_of(body).startswith("Score ")
        return json.dumps({"score": 40})

    with serving(score) as stub:
        model = make_model(task.project, stub.base_url)
        at = reverse("task_ask", args=[task.project_id, task.pk, "judge_points"])
        assert "mine, version 1" in html_of(signed_in(task).get(at))
        run = finished(task, "judge_points", model=model.pk, prompt="own:mine@1", whose="systems")
    assert run.state == RunState.DONE, run.error
    assert list(asked(run)["prompts"]) == ["own:mine@1"]


def test_a_prompt_is_chosen_by_its_title_which_all_its_versions_share() -> None:
    task = factories.make_task(n=1)
    first = write(task)
    make_model(task.project, "http://127.0.0.1:9/v1")
    client, at = signed_in(task), reverse("models_prompt_edit", args=[task.project_id, first.pk])
    client.post(at, {"title": "Single words", "system": "", "user": TEXT})
    ask = reverse("task_ask", args=[task.project_id, task.pk, "answers"])
    page = html_of(client.get(ask))
    assert '<option value="own:mine@1">Single words (mine, version 1)' in page
    entry = AuditEntry.objects.filter(action="prompt.change").get()
    assert entry.detail["title"] == "Single words"
    assert client.post(at, {"title": " ", "system": "", "user": TEXT}).status_code == 422


def test_g_eval_rates_by_own_prompts_for_its_steps_and_its_ratings() -> None:
    task = checks.make_study(topics=1, people=1)
    write(task, "Plan for {{definition}}", name="steps", purpose="rate_steps")
    write(task, "{{steps}} so rate {{text}}", name="rating", purpose="rate_text")
    params = {"definition": "It helps.", "samples": 1, "steps_prompt": "own:steps@1"}
    with serving(lambda body: "3") as stub:
        model = make_model(task.project, stub.base_url, form="text")
        run = finished(task, "g_eval", model=model.pk, prompt="own:rating@1", **params)
        assert run.state == RunState.DONE, run.error
        sent = [prompt_of(body) for body in stub.asked]
    assert sent[0] == "Plan for It helps." and sent[1].startswith("3 so rate ")
    assert set(asked(run)["prompts"]) == {"own:steps@1", "own:rating@1"}
    raw = {**params, "model": model.pk, "prompt": "own:steps@1"}
    with pytest.raises(Invalid, match="does not fit"):
        ask_start.prepare(task=task, method="g_eval", raw=raw)


def test_thoughts_and_stages_of_a_checklist_are_made_by_own_prompts() -> None:
    task = thinking.make_thought()
    write(task, "Think of {{dimension}}", name="aloud", purpose="think_aloud")
    stage = write(task, "Sum up {{attributes}}", name="sum", purpose="stage_components")
    checklist = actions.create(
        by=task.project.owner, task=task, item=thinking.item_of(task), name="Order", whose="all"
    )

    def answer(body: Body) -> str:
        if prompt_of(body).startswith("Think"):
            return json.dumps({"considerations": ["Look at the order."]})
        return json.dumps({"components": ["Order"]})

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "think_aloud", model=model.pk, prompt="own:aloud@1")
        assert run.state == RunState.DONE, run.error
        assert System.objects.get().prompt_strategy == "own:aloud@1"
        at = reverse("models_prompt", args=[task.project_id, stage.pk])
        client = signed_in(task)
        assert client.get(at).context["shown"].sample[0]["content"].startswith("Sum up 1. ")
        page = html_of(
            client.get(reverse("checklist_ask", args=[task.project_id, checklist.pk, "components"]))
        )
        assert "sum, version 1" in page and "aloud, version 1" not in page
        run = finished(
            task,
            "checklist_stage",
            model=model.pk,
            checklist=checklist.pk,
            stage="components",
            prompt="own:sum@1",
        )
    assert run.state == RunState.DONE, run.error
    assert prompt_of(stub.asked[-1]).startswith("Sum up 1. ")


def test_every_built_in_prompt_is_a_start_that_its_purpose_takes() -> None:
    for slug, templates in starts().items():
        for template in templates:
            check_texts(PURPOSES[slug], template.system, template.user)
        assert set(PURPOSES[slug].offered) <= set(PLACES)
        assert set(PURPOSES[slug].offered) >= templates[0].places


def test_no_worker_and_no_other_project_sees_or_uses_a_prompt() -> None:
    task = factories.make_task(n=1)
    prompt = write(task)
    stranger = factories.make_task(n=1)
    worker = factories.make_worker(task.project)
    assert worker.role == Role.WORKER and worker.user is not None
    pages = [
        reverse("models_prompts", args=[task.project_id]),
        *(
            reverse(f"models_prompt{name}", args=[task.project_id, prompt.pk])
            for name in ("", "_edit", "_try")
        ),
    ]
    for user, status in ((worker.user, 403), (stranger.project.owner, 404)):
        client = Client()
        client.force_login(user)
        assert {client.get(at).status_code for at in pages[:3]} == {status}
        assert client.post(pages[3]).status_code == status
    raw = {"model": make_model(stranger.project, "http://127.0.0.1:9/v1").pk}
    with pytest.raises(Invalid):
        ask_start.prepare(task=stranger, method="answers", raw={**raw, "strategy": "own:mine@1"})
