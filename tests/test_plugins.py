"""Plug-ins: loaded whole or not at all, used where a project enables them, and missed in peace."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.plugins import actions
from annotation.authoring.actions import tasks
from annotation.formats.actions.imports import import_objects
from annotation.models import AuditEntry, Project, Task
from annotation.task_types import get_type
from crowdqc import plugins
from crowdqc.errors import Invalid, Missing
from evaluation.models import ItemLabel, Run, RunState
from evaluation.runs import engine, run_types
from tests.support import factories as make
from tests.support.import_graph import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "plugin"
METHOD, RULE, FORMAT = "example__shrunken_shares", "example__orcid", "example__survey"
Write = Callable[[str, str], None]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example plug-in as it is installed: its wheel, unpacked."""
    folder = tmp_path_factory.mktemp("plugin")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=EXAMPLE, check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    with zipfile.ZipFile(made) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def example(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[plugins.Loaded]:
    """The example plug-in, loaded."""
    monkeypatch.syspath_prepend(str(wheel))
    found = plugins.load(["example"])
    assert not found.failures
    with plugins.replaced(found):
        yield found.loaded["example"]
    sys.modules.pop("crowdqc_example", None)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Installs a module as a plug-in."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def install(name: str, source: str) -> None:
        module = f"outside_{name}"
        (tmp_path / f"{module}.py").write_text(source)
        about = tmp_path / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[crowdqc.plugins]\n{name} = {module}:register\n")
        made.append(module)

    yield install
    for module in made:
        sys.modules.pop(module, None)


def labelled(project: Project, *, rule: str = "") -> Task:
    """A draft that asks for one choice and one text, with two items."""
    task = tasks.create_task(by=project.owner, project=project, type="labels", title="Mood")
    options = [{"value": value, "label": value} for value in ("good", "bad")]
    fields = [
        {"name": "mood", "question": "Mood?", "kind": "choose_one", "options": options},
        {"name": "who", "question": "Who?", "kind": "short_text", "required": False, "rule": rule},
    ]
    tasks.edit_draft(
        by=project.owner, task=task, fields={"settings": {"fields": fields}, "redundancy": 3}
    )
    rows = [{"item_id": key, "text": f"Text {key}"} for key in ("a", "b")]
    import_objects(by=project.owner, task=task, kind="label_items", rows=rows)
    return task


def with_labels(task: Task) -> Task:
    """The task, published, with labels of three people on each item."""
    by = task.project.owner
    tasks.publish(by=by, task=task)
    rows = [
        {"item_id": key, "worker_id": worker, "label": "good" if key == "a" else "bad"}
        for key in ("a", "b")
        for worker in ("w1", "w2", "w3")
    ]
    import_objects(by=by, task=task, kind="labels", rows=rows)
    return Task.objects.get(pk=task.pk)


def test_the_example_passes_its_own_tests() -> None:
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{EXAMPLE}"}
    env.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider",
         "-p", "no:django", "-p", "no:xdist", "--rootdir", str(EXAMPLE), str(EXAMPLE / "tests")],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.django_db
def test_a_method_is_offered_where_it_is_enabled_and_its_run_outlives_the_plugin(
    example: plugins.Loaded, client: Client
) -> None:
    project, other = make.make_project(), make.make_project()
    task = with_labels(labelled(project))
    assert METHOD not in {method.slug for method, _ in run_types.methods_of(task)}
    with pytest.raises(Invalid):
        engine.start(by=project.owner, task=task, method=METHOD)
    actions.enable_plugin(by=project.owner, project=project, name="example")
    assert AuditEntry.objects.filter(action="plugin.enable", project=project).count() == 1
    assert METHOD in {method.slug for method, _ in run_types.methods_of(task)}
    assert METHOD not in {method.slug for method, _ in run_types.methods_of(labelled(other))}
    with pytest.raises(Invalid):
        engine.start(by=project.owner, task=task, method=METHOD, params={"prior": 1000})

    run = engine.start(by=project.owner, task=task, method=METHOD, params={"prior": 2.0})
    assert engine.execute(run.pk) == RunState.DONE
    labels = dict(ItemLabel.objects.filter(run=run).values_list("item__key", "label"))
    assert labels == {"a": "good", "b": "bad"}

    client.force_login(project.owner)
    args = [project.pk, run.number]
    page = client.get(reverse("run_estimates", args=args))
    assert page.context["estimates"].is_loaded and page.context["estimates"].label_count == 2
    start = client.get(reverse("run_start", args=[project.pk, task.pk]), {"method": METHOD})
    assert b'name="prior"' in start.content
    with plugins.replaced(plugins.Plugins()):
        page = client.get(reverse("run_estimates", args=args))
        assert page.status_code == 200 and not page.context["estimates"].is_loaded
        assert b'id="plugin-missing"' in page.content
        for address in (
            reverse("run", args=args),
            reverse("run_list", args=[project.pk]),
            reverse("run_export", args=args),
            reverse("label_results", args=[project.pk, task.pk]),
            reverse("task", args=[project.pk, task.pk]),
            reverse("project", args=[project.pk]),
            reverse("project_settings_plugins", args=[project.pk]),
            f"/api/runs/{run.pk}/",
            f"/api/projects/{project.pk}/runs/{run.number}/",
            f"/api/tasks/{task.pk}/scores/labels/?run={run.number}",
        ):
            assert client.get(address).status_code == 200, address
        with pytest.raises(Invalid):
            engine.start(by=project.owner, task=task, method=METHOD)


@pytest.mark.django_db
def test_a_run_fails_in_words_where_a_plugin_returns_nonsense(
    example: plugins.Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    import crowdqc_example

    monkeypatch.setattr(crowdqc_example.np, "divide", lambda *args, **kwargs: kwargs["out"][:1])
    project = make.make_project()
    actions.enable_plugin(by=project.owner, project=project, name="example")
    run = engine.start(by=project.owner, task=with_labels(labelled(project)), method=METHOD)
    assert engine.execute(run.pk) == RunState.FAILED
    assert "quality has the shape" in Run.objects.get(pk=run.pk).error


@pytest.mark.django_db
def test_a_check_of_a_text_field_holds_while_its_plugin_is_enabled(example: plugins.Loaded) -> None:
    project = make.make_project()
    task = labelled(project, rule=RULE)
    version = task.versions.get()
    lacks = [missing.question for missing in get_type("labels").missing(task, version)]
    assert lacks == ["who"]
    actions.enable_plugin(by=project.owner, project=project, name="example")
    assert get_type("labels").missing(task, version) == []

    def check(text: str) -> str:
        draft = {"l-mood": "good", "l-who": text}
        values = get_type("labels").check(draft, version.settings)
        assert values is not None
        return values.texts[0][2]

    assert check("0000000218250097") == "0000-0002-1825-0097"
    with pytest.raises(Invalid) as refused:
        check("1234")
    assert set(refused.value.fields) == {"who"}
    with plugins.replaced(plugins.Plugins()):
        assert check("1234") == "1234"  # nobody's work waits for a plug-in
        tasks.edit_draft(by=project.owner, task=task, fields={"title": "Moods"})
        assert len(get_type("labels").missing(task, task.versions.get())) == 1


@pytest.mark.django_db
def test_a_format_is_taken_where_its_plugin_is_enabled_and_names_bad_rows(
    example: plugins.Loaded, client: Client
) -> None:
    project = make.make_project()
    task, by = labelled(project), project.owner
    rows = [{"response": "7", "comment": "Too slow."}, {"response id": "8", "comment": " "}]
    with pytest.raises(Invalid):
        import_objects(by=by, task=task, kind=FORMAT, rows=rows[:1])
    client.force_login(by)
    client.post(
        reverse("project_settings_plugins", args=[project.pk]), {"name": "example", "enable": "1"}
    )
    with pytest.raises(Invalid) as refused:
        import_objects(by=by, task=task, kind=FORMAT, rows=rows)
    assert [row["line"] for row in refused.value.rows] == [2]
    assert import_objects(by=by, task=task, kind=FORMAT, rows=rows[:1]).new == 1
    assert task.items.get(key="response-7").question == "Too slow."
    assert client.get(reverse("task", args=[project.pk, task.pk])).status_code == 200
    listed = client.get(f"/api/tasks/{task.pk}/imports/").json()
    assert FORMAT in {kind["kind"] for kind in listed}
    with pytest.raises(Missing):
        actions.enable_plugin(by=by, project=project, name="nobody")


@pytest.mark.django_db
def test_a_template_is_in_the_gallery_of_projects_that_enable_its_plugin(
    example: plugins.Loaded, client: Client
) -> None:
    project = make.make_project()
    client.force_login(project.owner)
    new = reverse("task_new", args=[project.pk])
    begin = reverse("task_from_template", args=[project.pk, "example__authors"])
    assert b"example__authors" not in client.get(new).content
    assert client.post(begin).status_code == 422
    actions.enable_plugin(by=project.owner, project=project, name="example")
    assert b"example__authors" in client.get(new).content
    assert client.post(begin).status_code == 302
    task = project.tasks.get()
    assert task.items.count() == 1 and get_type("labels").missing(task, task.versions.get()) == []
    builder = reverse("task_build", args=[project.pk, task.pk])
    assert b'id="b-rule"' in client.get(builder, {"part": "fields", "question": "author"}).content
    with plugins.replaced(plugins.Plugins()):
        assert client.post(begin).status_code == 422
        assert client.get(builder).status_code == 200


GOOD = """
from crowdqc.api import TaskTemplate, TextRule, RowFormat, plugin
def register(additions):
    additions.add_text_rule(TextRule("upper", "Upper case", str.upper))
    {more}
register = plugin(api="{api}", title="Test")(register)
"""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (GOOD.format(api="2.0", more=""), "needs crowdqc.api 2.0"),
        (GOOD.format(api="1.7", more=""), "needs crowdqc.api 1.7"),
        (GOOD.format(api="1.0", more="1 / 0"), "ZeroDivisionError"),
        (
            GOOD.format(
                api="1.0",
                more='additions.add_row_format(RowFormat("x", "X", "nothing", (), dict))',
            ),
            "'nothing'",
        ),
        (
            GOOD.format(api="1.0", more='additions.add_text_rule(TextRule("upper", "Again", str))'),
            "same name",
        ),
        (
            GOOD.format(
                api="1.0",
                more='additions.add_template(TaskTemplate("x", *["maze"] * 4, {}, "items", ()))',
            ),
            "'maze'",
        ),
        ("register = print", "not declared"),
        ("import nothing_of_this_name", "cannot be imported"),
    ],
)
def test_a_plugin_that_cannot_be_taken_adds_nothing_and_is_named(
    write: Write, source: str, reason: str
) -> None:
    write("bad", source)
    write("good", GOOD.format(api="1.0", more=""))
    found = plugins.load(["bad", "good", "absent"])
    assert set(found.loaded) == {"good"}
    assert found.text_rule("good__upper") and found.text_rule("bad__upper") is None
    failures = {failure.name: failure.reason for failure in found.failures}
    assert set(failures) == {"bad", "absent"} and reason in failures["bad"]
    with plugins.replaced(found):
        errors = plugins.check_plugins(None)
    assert [error.id for error in errors] == ["crowdqc.E030"] * 2
    assert "Plug-in bad was not loaded" in errors[0].msg


def test_what_is_installed_is_not_loaded_unless_settings_name_it(write: Write) -> None:
    write("eager", "raise SystemExit('imported')")
    assert plugins.load([]).loaded == {} and "outside_eager" not in sys.modules
