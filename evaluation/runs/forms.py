"""What people choose for a run and for its schedule; the actions decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from crowdqc.numbers import several
from crowdqc.web.edits import EditForm
from crowdqc.web.fields import NumberField
from evaluation.embeddings.embeddings import PATH
from evaluation.embeddings.folders import is_sentence_model, model_folders
from evaluation.methods.core.params import CHOICE, FLAG, TEXT, WHOLE, Param, Params
from evaluation.models import LanguageModel
from evaluation.runs import engine as runs
from evaluation.runs.adapters import ShapeAdapter

ENCODERS = [
    ("minilm", gettext_noop("MiniLM, a sentence model")),
    ("char-svd", gettext_noop("Characters, no model needed")),
    ("word-tfidf", gettext_noop("Words, no model needed")),
    ("minilm+spelling", gettext_noop("MiniLM after spelling correction")),
    ("word-tfidf+spelling", gettext_noop("Words after spelling correction")),
]

Choices = Sequence[tuple[Any, str]]
LONG_LINE = 255  # characters; what may be longer is written in lines


def field_of(param: Param, choices: Choices | None = None) -> forms.Field:
    """The field of a form for an option: its label, help, range and default as it declares them.

    ``choices`` are those of a task or a project: pairs of a value and its words.
    """
    said: dict[str, Any] = {
        "label": gettext_lazy(param.label),
        "help_text": gettext_lazy(param.help),
        "initial": param.default,
    }
    if param.kind == TEXT and choices is None:
        most = None if param.high is None else math.floor(param.high)
        lines = forms.Textarea(attrs={"rows": 4}) if most and most > LONG_LINE else None
        needed = param.required or bool(param.default)
        return forms.CharField(required=needed, max_length=most, widget=lines, **said)
    if param.kind == FLAG:
        return forms.BooleanField(required=False, **said)
    if param.kind == CHOICE and choices is None:
        # A choice without words is for programs only.
        words = [gettext(one) for one in param.words]
        choices = list(zip(param.choices, words, strict=False))
    if choices is None:
        return _number_field(param, said)
    if param.kind == WHOLE:
        return forms.TypedChoiceField(coerce=int, choices=choices, **said)
    # Where "" can be chosen it is a choice like any other, and no gap.
    optional = param.kind == TEXT and not (param.required or param.default)
    needed = not optional and all(one for one, _ in choices)
    return forms.ChoiceField(choices=choices, required=needed, **said)


def _number_field(param: Param, said: dict[str, Any]) -> forms.Field:
    said["required"] = param.required or param.default is not None
    low = 0 if param.or_zero else param.low
    if param.kind == WHOLE:
        short = forms.NumberInput(attrs={"class": "short num"})
        least = None if low is None else math.floor(low)
        most = None if param.high is None else math.floor(param.high)
        return forms.IntegerField(min_value=least, max_value=most, widget=short, **said)
    return NumberField(min_value=low, max_value=param.high, **said)


class RunForm(forms.Form):
    """The options of a method that a person may choose, and a seed; ``noun`` is what it reads.

    ``choices`` are those of the task, by option: one of which nothing can be chosen is left out,
    and those of the encoder are offered beside the
    known ones. An encoder may also be one that an endpoint of the project has: ``offer``.
    """

    def __init__(
        self,
        *args: Any,
        options: Params,
        noun: str,
        choices: Mapping[str, Choices] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        for param in options.options:
            own = None if param.name == "encoder" else (choices or {}).get(param.name)
            nothing_to_choose = own is not None and not own
            if param.label and not nothing_to_choose:
                self.fields[param.name] = field_of(param, own)
        if "encoder" in self.fields:
            more = (choices or {}).get("encoder", ())
            self.fields["encoder"].widget = forms.Select(choices=self._encoders(more))
        self.fields["seed"] = forms.IntegerField(
            min_value=0,
            max_value=2**53,
            initial=runs.DEFAULT_SEED,
            help_text=gettext("The same seed on the same %(nouns)s gives the same numbers.")
            % {"nouns": several(noun)},
            widget=forms.NumberInput(attrs={"class": "mid num"}),
        )

    @property
    def needs_choice(self) -> bool:
        """Whether an option must be chosen that has no default."""
        return any(
            field.required and self.get_initial_for_field(field, name) in (None, "")
            for name, field in self.fields.items()
        )

    def _encoders(self, more: Choices) -> Sequence[tuple[str, str]]:
        asked = self.data.get("encoder") or self.initial.get("encoder") or ""
        there = model_folders(is_sentence_model)
        own = [(slug, gettext(words)) for slug, words in ENCODERS]
        known = [*own, *((f"{PATH}{folder}", name) for name, folder in there.items()), *more]
        if asked and asked not in dict(known):
            return [*known, (asked, asked)]  # a model's folder, as the last run used it
        return known

    def offer(self, project_id: int) -> None:
        """Offer the embedding models of the project's endpoints as encoders too."""
        if "encoder" not in self.fields:
            return
        widget = self.fields["encoder"].widget
        there = LanguageModel.objects.usable(project_id, LanguageModel.Use.EMBEDDING)
        named = {
            f"endpoint:{one.pk}": gettext("%(model)s at %(endpoint)s")
            % {"model": one.name, "endpoint": one.endpoint.name}
            for one in there
        }
        kept = [choice for choice in widget.choices if choice[0] not in named]
        widget.choices = [*kept, *named.items()]


class ScheduleForm(EditForm):
    """When runs of a task start automatically, of whose answers ``known`` knows the words."""

    enabled = forms.BooleanField(
        required=False,
        label=gettext_lazy("Runs of this task start automatically"),
    )
    after_answers = forms.IntegerField(
        label=gettext_lazy("After new answers"),
        required=False,
        min_value=1,
        help_text=gettext_lazy(
            "Counted when none came for half a minute. Empty: not for this reason."
        ),
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    every_minutes = forms.IntegerField(
        required=False,
        min_value=5,
        label=gettext_lazy("Every so many minutes"),
        help_text=gettext_lazy("Only when something is new. Empty: not for this reason."),
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )

    def __init__(self, *args: Any, known: ShapeAdapter, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["enabled"].help_text = gettext("The first one when %(first_run_when)s.") % {
            "first_run_when": known.first_run_when
        }
        self.fields["after_answers"].label = gettext("After so many new %(nouns)s") % {
            "nouns": several(known.answer_noun)
        }
