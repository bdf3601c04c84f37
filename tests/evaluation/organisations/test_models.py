"""Models that an organisation shares, and its budget over the calls of all its projects."""

from __future__ import annotations

import threading
from decimal import Decimal

import pytest
from django.db import connection

from annotation.accounts.organisations import actions as organisations
from annotation.models import Organisation, OrganisationRole, Project
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.llm import estimate
from evaluation.llm.ask import BudgetSpent
from evaluation.llm.calls import fetch_replies
from evaluation.llm.endpoints.actions import add_endpoint
from evaluation.llm.organisation import use_of
from evaluation.llm.selectors import models as reads
from evaluation.llm_runs.parts import chat_model
from evaluation.models import Endpoint, LanguageModel, LLMCall, Run
from evaluation.moving.writing import find_crossing
from evaluation.organisations.actions import close_organisation, set_organisation
from tests.evaluation.corpora.llm_asks import GOOD, ask, make_run
from tests.support import factories as make
from tests.support.servers.llm import make_model, serving

KEY = "sk-shared-and-never-shown-4711"


def found(name: str = "Bird lab") -> Organisation:
    """An organisation with an owner."""
    return organisations.create_organisation(by=None, name=name, owner=make.make_user())


def share(model: LanguageModel, organisation: Organisation) -> LanguageModel:
    """Give a model's endpoint to an organisation."""
    Endpoint.objects.filter(pk=model.endpoint_id).update(project=None, organisation=organisation)
    return LanguageModel.objects.select_related("endpoint").get(pk=model.pk)


@pytest.mark.django_db
def test_projects_of_an_organisation_ask_its_models_until_they_leave() -> None:
    lab = found()
    run, other = make_run(), make_run(make.make_project())
    Project.objects.filter(pk__in=[run.project_id, other.project_id]).update(organisation=lab)
    with serving(lambda body: GOOD) as stub:
        model = share(make_model(run.project, stub.base_url), lab)
        for one in (run, other):
            assert chat_model(one.task, model.pk) == model
            assert fetch_replies(one, model, [ask(1)])[0].value == {"score": 70.0}
        preview = estimate.preview(model, [ask(1), ask(2)], run.project_id)
        assert (preview.cached, len(stub.asked)) == (1, 2)  # projects share no answers
        assert {call.project_id for call in LLMCall.objects.all()} == {
            run.project_id,
            other.project_id,
        }
        # A moved project goes without the organisation's model; its calls keep its name.
        assert find_crossing(run.project)["evaluation.LLMCall.model"]
        set_organisation(by=None, project=run.project, organisation=None)
        with pytest.raises(Conflict, match="has left"):
            fetch_replies(make_run(run.project, 2), model, [ask(3)])
        with pytest.raises(Invalid):
            chat_model(run.task, model.pk)
    assert len(stub.asked) == 2
    [row] = reads.endpoints(Project.objects.get(pk=other.project_id))
    assert row["shared"] and row["models"][0].calls == 1  # its own alone


@pytest.mark.django_db
def test_key_of_a_shared_endpoint_is_sealed_and_its_owners_change_it() -> None:
    lab = found()
    [owner] = [member.user for member in lab.members.all()]
    made = add_endpoint(
        by=owner, owner=lab, name="Ours", base_url="https://models.example/v1", key=KEY
    )
    assert KEY.encode() not in bytes(made.key_sealed or b"") and made.project is None
    with pytest.raises(Invalid):
        add_endpoint(by=owner, owner=lab, name="Ours", base_url="https://models.example/v1")
    close_organisation(by=None, organisation=lab)
    made.refresh_from_db()
    assert made.archived_at is not None and made.key_sealed is None
    assert not lab.members.exists()


@pytest.mark.django_db
def test_model_without_prices_is_not_asked_under_the_budget_of_an_organisation() -> None:
    lab = found()
    run = make_run()
    Project.objects.filter(pk=run.project_id).update(organisation=lab)
    organisations.change_settings(by=None, organisation=lab, model_budget=Decimal(5))
    with serving(lambda body: GOOD) as stub:
        model = make_model(run.project, stub.base_url)
        LanguageModel.objects.filter(pk=model.pk).update(price_in=None, price_out=None)
        model.refresh_from_db()
        assert "Bird lab" in estimate.blocking(model)[0]
        with pytest.raises(Conflict, match="Bird lab"):
            fetch_replies(run, model, [ask(1)])
    assert not stub.asked


@pytest.mark.db
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_projects_at_once_never_overdraw_the_budget_of_their_organisation() -> None:
    lab = found()
    runs = [make_run(make.make_project()) for _ in range(4)]
    ended: list[str] = []
    with serving(lambda body: GOOD) as stub:
        models = [make_model(run.project, stub.base_url) for run in runs]
        LanguageModel.objects.update(price_in=10, price_out=10)
        models[1] = share(models[1], lab)  # two endpoints of projects, and one for two of them
        models[2] = models[1]
        for run in runs:
            set_organisation(by=None, project=run.project, organisation=lab)
        budget = Decimal("0.01")
        organisations.change_settings(by=None, organisation=lab, model_budget=budget)

        def work(run: Run, model: LanguageModel) -> None:
            try:
                fetch_replies(
                    run, LanguageModel.objects.get(pk=model.pk), [ask(n) for n in range(60)]
                )
                ended.append("all")
            except BudgetSpent as problem:
                ended.append(problem.message)
            finally:
                connection.close()

        threads = [
            threading.Thread(target=work, args=pair) for pair in zip(runs, models, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    use = use_of(lab)
    assert use.reserved == 0 and budget * Decimal("0.3") < use.spent <= budget
    assert len(ended) == 4 and all("Bird lab" in word for word in ended)
    assert len({call.project_id for call in LLMCall.objects.filter(cost__gt=0)}) > 1


@pytest.mark.django_db
def test_project_joins_by_its_owner_and_leaves_by_either() -> None:
    lab = found()
    head = lab.members.get().user
    member = make.make_user()
    organisations.set_member(by=None, organisation=lab, user=member, role=OrganisationRole.MEMBER)
    project = make.make_project(owner=member)
    foreign = make.make_project()
    for by, one in ((head, project), (head, foreign), (foreign.owner, foreign)):
        with pytest.raises(NotAllowed):
            set_organisation(by=by, project=one, organisation=lab)
    set_organisation(by=member, project=project, organisation=lab)
    other = found("Bee lab")
    with pytest.raises(NotAllowed):
        set_organisation(by=member, project=project, organisation=other)
    with pytest.raises(Conflict, match="Projects belong"):
        close_organisation(by=None, organisation=lab)
    set_organisation(by=head, project=project, organisation=None)
    project.refresh_from_db()
    assert project.organisation is None
    with pytest.raises(Conflict, match="counts in EUR"):
        set_organisation(by=None, project=make.make_project(currency="USD"), organisation=lab)
