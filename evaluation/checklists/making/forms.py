"""What people choose for checklists; the actions decide."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from annotation.accounts.projects.forms import TitleField, form_key
from annotation.models import Item, Task
from evaluation.checklists.making import pipeline
from evaluation.checklists.making.runs import MAKING, prompt_choices
from evaluation.llm_runs.forms import AskForm

WHOSE = [
    (pipeline.EVERYBODY, gettext_noop("Everybody: people and models combined")),
    (pipeline.PEOPLE, gettext_noop("All people")),
    (pipeline.MODELS, gettext_noop("All models")),
]
NOBODY = (pipeline.NOBODY, gettext_noop("Nobody: components are written by hand from the rubric"))


def attribute_source_choices(authors: list[tuple[str, str, int]]) -> list[tuple[str, str]]:
    """List the choices of whose attributes make a checklist; nobody is always one."""
    kinds = {kind for _, kind, _ in authors}
    everybody, people, models, nobody = (
        (whose, gettext(words)) for whose, words in (*WHOSE, NOBODY)
    )
    found = []
    if len(kinds) > 1:
        found.append(everybody)
    found += [one for one, kind in ((people, "person"), (models, "model")) if kind in kinds]
    found += [
        (
            f"{pipeline.AUTHOR}{author}",
            gettext("Only %(author)s (%(number)s)") % {"author": author, "number": n},
        )
        for author, _, n in authors
    ]
    return [*found, nobody]


class WhoseForm(forms.Form):
    """Whose attributes a checklist is made from."""

    whose = forms.ChoiceField(label=gettext_lazy("Whose attributes"))

    def __init__(self, *args: Any, authors: list[tuple[str, str, int]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["whose"].choices = attribute_source_choices(authors)  # type: ignore[attr-defined]


class ChecklistForm(forms.Form):
    """A new checklist: its name, its dimension, and whose attributes enter."""

    name = TitleField(
        max_length=120,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Seen by the team of this project."),
    )
    item = forms.TypedChoiceField(coerce=int, label=gettext_lazy("Dimension"))
    whose = forms.ChoiceField(
        label=gettext_lazy("Whose attributes"),
        help_text=gettext_lazy(
            "They are taken as they are now. Later ones can be taken in at any time."
        ),
    )

    def __init__(self, *args: Any, task: Task, items: list[Item], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.items = items
        authors = {
            one for item in items for one in pipeline.authors(pipeline.attributes_of(task, item))
        }
        counted: dict[tuple[str, str], int] = {}
        for author, kind, n in authors:
            counted[author, kind] = counted.get((author, kind), 0) + n
        rows = sorted((kind == "model", author, kind, n) for (author, kind), n in counted.items())
        self.fields["item"].choices = [  # type: ignore[attr-defined]
            (str(item.pk), item.group.title or item.key) for item in items
        ]
        self.fields["whose"].choices = attribute_source_choices(  # type: ignore[attr-defined]
            [(author, kind, n) for _, author, kind, n in rows]
        )


class StageAskForm(AskForm):
    """Which model makes a stage that was chosen before."""

    def __init__(self, *args: Any, task: Task, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, asking=MAKING, task=task, **kwargs)
        del self.fields["checklist"], self.fields["stage"]
        self.fields["prompt"].choices = prompt_choices(task, [kind])  # type: ignore[attr-defined]
        self.fields["temperature"].help_text = gettext(
            "0: the most probable answer, the same each time."
        )


class TaskForm(forms.Form):
    """A task in which people answer a frozen checklist."""

    title = TitleField(max_length=160, label=gettext_lazy("Title"))
    key = form_key()
    topics = forms.MultipleChoiceField(
        required=False,
        label=gettext_lazy("Texts on these topics"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None: the texts are chosen when the task is built."),
    )
    percent = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        initial=100,
        label=gettext_lazy("Share of these texts, in %"),
        help_text=gettext_lazy(
            "Below 100 a random sample, even over topics and, where texts have human scores, over "
            "these; then only such texts are drawn."
        ),
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )

    def __init__(self, *args: Any, topics: list[tuple[str, int]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["topics"].choices = [  # type: ignore[attr-defined]
            (topic, f"{topic} ({n})") for topic, n in topics
        ]
        if not topics:
            del self.fields["topics"], self.fields["percent"]
