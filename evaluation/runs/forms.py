"""What people choose for a run and for its schedule; the actions decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from evaluation.free_text import run as text_runs
from evaluation.methods.aqer.method import DEFAULTS
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.writing import method as writing
from evaluation.models import LanguageModel
from evaluation.runs import engine as runs

ENCODERS = [
    ("minilm", "MiniLM, a sentence model"),
    ("char-svd", "Characters, no model needed"),
]


def _seed(noun: str) -> forms.IntegerField:
    return forms.IntegerField(
        min_value=0,
        max_value=2**53,
        initial=runs.DEFAULT_SEED,
        help_text=f"The same seed on the same {noun} gives the same numbers.",
        widget=forms.NumberInput(attrs={"class": "mid num"}),
    )


class RunForm(forms.Form):
    encoder = forms.CharField(
        label="Encoder",
        initial=text_runs.DEFAULT_ENCODER,
        help_text="What turns an answer into numbers. Vectors are kept, so a text is encoded once.",
    )
    leave_one_out = forms.BooleanField(
        required=False,
        initial=DEFAULTS["leave_one_out"],
        label="Leave a worker's own answer out of the exemplary one",
        help_text="Better where few people answered a question. The paper keeps it in.",
    )
    rank_by = forms.ChoiceField(
        choices=[
            ("auto", "By the number of answers per question"),
            ("score", "Raw score"),
            ("adjusted", "Question-adjusted score"),
        ],
        label="Ranked by",
        help_text="Adjusted scores allow for hard questions, but need 3 answers per question.",
    )
    similarity = forms.ChoiceField(
        choices=[("cosine", "Cosine"), ("neg_euclidean", "Negative Euclidean distance")],
        help_text="How the closeness of two answers is measured.",
    )
    start = forms.ChoiceField(
        choices=[("equal", "Equal votes"), ("noisy", "Equal votes, changed a little at random")],
        label="First round",
        help_text="Changes nothing that anybody has seen; offered because the paper has it.",
    )
    resamples = forms.IntegerField(
        min_value=0,
        max_value=20_000,
        initial=2000,
        label="Resamples of the questions",
        help_text="For the intervals. 0 leaves them out; else 100 or more.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    seed = _seed("answers")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        asked = self.data.get("encoder") or self.initial.get("encoder") or ""
        choices = list(ENCODERS)
        if asked and asked not in dict(choices):
            choices.append((asked, asked))  # a model's folder, as the last run used it
        self.fields["encoder"].widget = forms.Select(choices=choices)

    def offer(self, project_id: int) -> None:
        """Offer the embedding models of the project's endpoints as encoders too."""
        widget = self.fields["encoder"].widget
        there = LanguageModel.objects.filter(
            endpoint__project=project_id,
            use=LanguageModel.Use.EMBEDDING,
            archived_at__isnull=True,
            endpoint__archived_at__isnull=True,
        ).select_related("endpoint")
        named = {f"endpoint:{one.pk}": f"{one.name} at {one.endpoint.name}" for one in there}
        kept = [choice for choice in widget.choices if choice[0] not in named]
        widget.choices = [*kept, *named.items()]


def _number(name: str, *, low: int, high: int, label: str, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(
        min_value=low,
        max_value=high,
        initial=pairwise.DEFAULTS[name],
        label=label,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )


class PairRunForm(forms.Form):
    """Options of a run on pairwise judgments; the method says what it takes."""

    pooled = forms.BooleanField(
        required=False,
        label="One competence for all dimensions",
        help_text="Steadier where people judged few pairs. Else each dimension has its own fit.",
    )
    rank_by = forms.ChoiceField(
        choices=[("votes", "Every vote alike"), ("competence", "By the competence of its worker")],
        label="Votes count in the ranking",
        help_text="By competence, what workers share weighs more; so does what they share wrongly.",
    )
    prevalence = forms.ChoiceField(
        choices=[
            ("uniform", "All equally often, as in the paper"),
            ("mirrored", "Estimated; first and second equally often"),
        ],
        label="How often each label is true (MACE)",
        help_text="Where workers guess much, an estimate can run off to one label.",
    )
    algorithm = forms.ChoiceField(
        choices=[("vb", "Variational Bayes, as in the paper"), ("em", "Expectation maximisation")],
        label="Fit of competence (MACE)",
    )
    restarts = _number(
        "restarts", low=1, high=200, label="Random starts", help_text="The best of so many fits."
    )
    draws = _number(
        "draws",
        low=0,
        high=20_000,
        label="Draws for the intervals of competence",
        help_text="0 leaves them out; else 100 or more.",
    )
    resamples = _number(
        "resamples",
        low=100,
        high=20_000,
        label="Resamples for ranks and agreement",
        help_text="How often the judgments are drawn anew.",
    )
    regularisation = forms.FloatField(
        min_value=0.01,
        max_value=100,
        initial=pairwise.DEFAULTS["regularisation"],
        help_text="So many wins and losses against an average system are added to each one, so "
        "that one that never lost has a merit.",
        widget=forms.NumberInput(attrs={"class": "short num", "step": "any"}),
    )
    early = _number(
        "early",
        low=1,
        high=500,
        label="Pairs that count as early",
        help_text="The drift of neutral votes is measured before and after so many pairs.",
    )
    seed = _seed("judgments")


class WritingRunForm(forms.Form):
    """Options of a run on written responses."""

    resamples = forms.IntegerField(
        min_value=0,
        max_value=20_000,
        initial=writing.DEFAULTS["resamples"],
        label="Resamples of the topics",
        help_text="For the intervals. 0 leaves them out; else 100 or more.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    threshold = forms.FloatField(
        min_value=0,
        max_value=100,
        initial=writing.DEFAULTS["threshold"],
        label="BLEU up to which a statement counts as written anew",
        help_text="The paper looks at 25, which hardly any statement of a model exceeds.",
        widget=forms.NumberInput(attrs={"class": "short num", "step": "any"}),
    )
    seed = _seed("responses")


class PlainRunForm(forms.Form):
    """Options of a method without a form of its own: resamples, where it draws some, and a seed."""

    resamples = forms.IntegerField(
        min_value=0,
        max_value=20_000,
        label="Resamples",
        help_text="For the intervals: how often what was collected is drawn anew.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    seed = _seed("answers")

    def __init__(self, *args: Any, params: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "resamples" in params:
            self.fields["resamples"].initial = params["resamples"]
        else:
            del self.fields["resamples"]


# The form of the method that runs on tasks of a shape.
RUN_FORMS: dict[str, type[forms.Form]] = {
    "texts": RunForm,
    "pairs": PairRunForm,
    "responses": WritingRunForm,
}


class ScheduleForm(forms.Form):
    """When runs of a task start automatically; ``noun`` is what the task collects."""

    enabled = forms.BooleanField(
        required=False,
        label="Runs of this task start automatically",
    )
    after_answers = forms.IntegerField(
        required=False,
        min_value=1,
        help_text="Counted when none came for half a minute. Empty: not for this reason.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )
    every_minutes = forms.IntegerField(
        required=False,
        min_value=5,
        label="Every so many minutes",
        help_text="Only when something is new. Empty: not for this reason.",
        widget=forms.NumberInput(attrs={"class": "short num"}),
    )

    def __init__(self, *args: Any, noun: str = "answer", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        enough = "there are 5" if noun == "response" else "3 workers have 5"
        each = "" if noun == "response" else " each"
        self.fields["enabled"].help_text = f"The first one when {enough} {noun}s{each}."
        self.fields["after_answers"].label = f"After so many new {noun}s"
