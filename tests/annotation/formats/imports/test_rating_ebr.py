"""The published ratings with explanations: the command takes them in, whole and once."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Answer, Assignment, Project, TextValue
from evaluation.models import LLMCall
from tests.support import factories

HOME = Path(__file__).parents[4].parent / "shared" / "data"
DATA = Path(os.environ.get("CROWDQC_DATA") or HOME) / "explanation-rescaling"


@pytest.mark.data
@pytest.mark.django_db
@pytest.mark.skipif(
    not DATA.is_dir(), reason="the real data is not here; CROWDQC_DATA says where it lies"
)
@pytest.mark.long
def test_the_published_study_comes_in_whole_within_a_minute_and_once() -> None:
    owner = factories.make_user("ebr-owner")
    began = time.process_time()  # of this process: others may be busy
    said = [io.StringIO(), io.StringIO()]
    for out in said:
        call_command(
            "crowdqc_import",
            "ebr",
            str(DATA),
            "--new-project",
            "Explanations",
            "--by",
            owner.username,
            stdout=out,
            stderr=io.StringIO(),
        )
        if out is said[0]:
            assert time.process_time() - began < 60
    assert "ratings: 12,650 new, 0 there already" in said[0].getvalue()
    assert "ratings: 0 new, 12,650 there already" in said[1].getvalue()
    task = Project.objects.get(name="Explanations").tasks.get()
    assert (task.state, task.items.count(), task.groups.count()) == ("closed", 2532, 79)
    answers = Answer.objects.filter(item__task=task)
    assert answers.count() == TextValue.objects.filter(answer__in=answers).count() == 12_650
    again = answers.filter(item__key="inq-50-0-davinci", worker__external_id="5")
    assert again.count() == again.values("assignment").distinct().count()
    assert Assignment.objects.filter(task=task).values("worker").distinct().count() == 8
    assert LLMCall.objects.filter(source="import").count() > 10_000
