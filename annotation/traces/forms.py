"""Forms of sources: what connects one, and how its traces are kept, masked and drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import TraceSource
from annotation.traces.masks import MASKS
from annotation.traces.settings import Rule, SourceSettings
from crowdqc.errors import Invalid
from crowdqc.numbers import parse_real
from crowdqc.web.fields import NumberField
from crowdqc.web.terms import Words

NUM = {"class": "short num"}
AS_STORED = (
    "budget", "judge", "fails_below", "masks", "idle_seconds", "retention_days", "silent_hours",
    "backlog_days", "hide_system", "staff_only_requesters",
)  # fmt: skip


class SourceForm(forms.Form):
    """A new source."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        help_text=gettext_lazy("The application and its version, such as “support chat 2.3”."),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=TraceSource.Kind.choices,
        initial=TraceSource.Kind.OTLP,
        widget=forms.RadioSelect,
    )
    api_url = forms.URLField(
        label=gettext_lazy("Address"),
        required=False,
        max_length=300,
        assume_scheme="https",
        help_text=gettext_lazy("Of Phoenix, Langfuse or LangSmith. Empty: their cloud."),
    )
    api_project = forms.CharField(
        label=gettext_lazy("Project there"), required=False, max_length=200
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=400,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Of Langfuse: public:secret. Stored encrypted, never shown."),
    )
    sends_scores = forms.BooleanField(
        label=gettext_lazy("Send reviews back as scores"), required=False
    )


SECTIONS: tuple[tuple[Words, Words, tuple[str, ...]], ...] = (
    (
        gettext_lazy("What is drawn"),
        gettext_lazy("percent of the traces that match"),
        ("random", "error", "low_score", "low_below", "feedback", "attributes", "budget"),
    ),
    (gettext_lazy("Judge"), "", ("judge", "fails_below")),
    (
        gettext_lazy("Alerts"),
        gettext_lazy("to requesters and managers"),
        ("failing_above", "silent_hours", "backlog_days"),
    ),
    (gettext_lazy("Masks"), "", ("masks", "phone_countries", "own_masks")),
    (
        gettext_lazy("Storage and access"),
        "",
        ("idle_seconds", "retention_days", "hide_system", "staff_only_requesters"),
    ),
)


def _share(label: Any, help_text: Any = "") -> NumberField:
    return NumberField(label=label, required=False, min_value=0, max_value=100, help_text=help_text)


def _whole(label: Any, low: int, high: int, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=low,
        max_value=high,
        widget=forms.NumberInput(attrs=NUM),
        help_text=help_text,
    )


class SettingsForm(forms.Form):
    """The settings of a source."""

    random = _share(
        gettext_lazy("At random"),
        gettext_lazy("Percent of all traces. Keep some: they stand for the traces nobody flagged."),
    )
    error = _share(gettext_lazy("With an error"))
    low_score = _share(gettext_lazy("With a low judge score"))
    low_below = NumberField(label=gettext_lazy("Low is below"))
    feedback = _share(
        gettext_lazy("With negative user feedback"), gettext_lazy("Feedback below 0, from -1 to 1.")
    )
    attributes = forms.CharField(
        label=gettext_lazy("By attribute"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("One per line: key=value 20%, or key 20% for any value."),
    )
    budget = _whole(
        gettext_lazy("Traces per day"),
        0,
        1_000_000,
        gettext_lazy("On average, twice as many at most. 0: no limit."),
    )
    judge = forms.CharField(
        label=gettext_lazy("Name of its score"),
        required=False,
        max_length=80,
        help_text=gettext_lazy("Empty: the first by name."),
    )
    fails_below = NumberField(label=gettext_lazy("Judge says fail below"))
    failing_above = _share(
        gettext_lazy("Alert when more fail than"),
        gettext_lazy("Percent of traces, with the whole 95% interval above it. Empty: no alert."),
    )
    silent_hours = _whole(
        gettext_lazy("Alert when silent for"),
        0,
        8760,
        gettext_lazy("Hours without a span. 0: no alert."),
    )
    backlog_days = _whole(
        gettext_lazy("Alert when traces wait for"),
        0,
        365,
        gettext_lazy("Days without all reviews. 0: no alert."),
    )
    masks = forms.MultipleChoiceField(
        label=gettext_lazy("Replace"),
        required=False,
        choices=[(name, mask.label) for name, mask in MASKS.items()],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Before storage. What was replaced is stored nowhere."),
    )
    phone_countries = forms.CharField(
        label=gettext_lazy("Countries of phone numbers"),
        required=False,
        max_length=60,
        help_text=gettext_lazy(
            "Such as DE, FR: numbers without a country code are masked, too, written in groups or "
            "with a leading 0."
        ),
    )
    own_masks = forms.CharField(
        label=gettext_lazy("Masks of your own"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=gettext_lazy("One per line: NAME and a regular expression with bounded repeats."),
    )
    idle_seconds = _whole(
        gettext_lazy("Complete after"),
        5,
        86_400,
        gettext_lazy("Seconds without a new span."),
    )
    retention_days = _whole(
        gettext_lazy("Data retention"),
        1,
        3650,
        gettext_lazy("Days. Conversations that people reviewed stay with their answers."),
    )
    hide_system = forms.BooleanField(
        label=gettext_lazy("Hide system prompts from reviewers"), required=False
    )
    staff_only_requesters = forms.BooleanField(
        label=gettext_lazy("Only requesters may open traces"), required=False
    )

    @property
    def sections(self) -> Iterator[tuple[Words, Words, list[forms.BoundField]]]:
        """Headings with what they say beside it, and the fields below."""
        for heading, aside, names in SECTIONS:
            yield heading, aside, [self[name] for name in names]

    @classmethod
    def initial_of(cls, settings: SourceSettings) -> dict[str, Any]:
        """Settings as the form shows them."""
        found: dict[str, Any] = {name: getattr(settings, name) for name in AS_STORED}
        found["failing_above"] = round(100 * settings.failing_above, 6) or ""
        found["phone_countries"] = ", ".join(settings.phone_countries)
        found["low_below"] = next(
            (one.below for one in settings.rules if one.kind == "low_score"), 0.4
        )
        for rule in settings.rules:
            if rule.kind != "attribute":
                found[rule.kind] = round(100 * rule.share, 6)
        found["attributes"] = "\n".join(
            f"{one.key}{'=' if one.value else ''}{one.value} {round(100 * one.share, 6):g}%"
            for one in settings.rules
            if one.kind == "attribute"
        )
        found["own_masks"] = "\n".join(f"{one.name} {one.pattern}" for one in settings.own_masks)
        return found

    def settings(self) -> dict[str, Any]:
        """What was filled in as settings; Invalid names a line that cannot be read."""
        given = self.cleaned_data
        rules = [
            {"kind": kind, "share": given[kind] / 100, "below": below}
            for kind, below in (
                ("random", 0.5), ("error", 0.5), ("low_score", given["low_below"]),
                ("feedback", 0.0),
            )
            if given.get(kind)
        ]  # fmt: skip
        rules += [
            _attribute_rule(line) for line in given["attributes"].splitlines() if line.strip()
        ]
        own = [line.strip().partition(" ") for line in given["own_masks"].splitlines()]
        return {
            **{name: given[name] for name in AS_STORED},
            "phone_countries": re.findall(r"[A-Z0-9]+", given["phone_countries"].upper()),
            "failing_above": (given["failing_above"] or 0) / 100,
            "rules": rules,
            "own_masks": [
                {"name": name, "pattern": pattern.strip()} for name, _space, pattern in own if name
            ],
        }


def _attribute_rule(line: str) -> dict[str, Any]:
    match = re.fullmatch(r"\s*([^\s=]{1,120})(?:=(.{1,200}?))?\s+([\d.]{1,8})\s*%\s*", line)
    percent = parse_real(match[3], 0, 100) if match else None
    if match is None or percent is None:
        raise Invalid(
            _("A rule cannot be read."),
            fields={"attributes": _("Write key=value 20%%, not “%(line)s”.") % {"line": line[:60]}},
        )
    return Rule(
        kind="attribute", share=percent / 100, key=match[1], value=match[2] or ""
    ).model_dump()


class QueueForm(forms.Form):
    """How many people review a trace."""

    reviews = forms.IntegerField(
        label=gettext_lazy("Reviews per trace"),
        initial=3,
        min_value=1,
        max_value=10,
        widget=forms.NumberInput(attrs=NUM),
    )


class TryMasksForm(forms.Form):
    """A text to see what masks replace in it; it is not stored."""

    text = forms.CharField(
        label=gettext_lazy("Text to try"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )
