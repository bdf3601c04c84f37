"""The recipe line at the foot of every result: what gives the same numbers again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crowdqc.numbers import count
from evaluation.models import LanguageModel, Run
from evaluation.results.stored_texts import translate_stored
from evaluation.runs import run_types

RANKED_BY = {
    "score": gettext_noop("raw score"),
    "adjusted": gettext_noop("question-adjusted score"),
}
SIMILARITIES = {"cosine": "cosine", "neg_euclidean": gettext_noop("negative Euclidean distance")}


def method_title(run: Run) -> str:
    """Return the method's title with its version, like ``AQER 1.0``."""
    return f"{run_types.title_of(run.method)} {translate_stored(run.version)}"


def model_names(runs: Iterable[Run]) -> dict[int, str]:
    """Id of a model -> its name, for the runs that ask one; no query where none does."""
    wanted = {pk for run in runs if (pk := model_id(run)) is not None}
    if not wanted:
        return {}
    return dict(LanguageModel.objects.filter(pk__in=wanted).values_list("pk", "name"))


def model_id(run: Run) -> int | None:
    """Return the id of the model that a run asks; None if it asks none."""
    found = run.params.get("model")
    return found if isinstance(found, int) and run_types.asking_of(run.method) else None


def encoder_words(identity: str) -> str:
    """Return the encoder's name with the first digits of its hash."""
    name, at, digest = identity.partition("@")
    return f"{name} {digest[:8]}" if at else name


def recipe_pairs(
    run: Run, told: Mapping[str, Any] | None = None, models: Mapping[int, str] | None = None
) -> list[tuple[str, str]]:
    """List the recipe of a run as (name, value), from its record or from its options.

    ``models`` are the names of models by id, where the caller has fetched those of many runs.
    """
    if not run_types.type_of(run.method).iterates:
        return _plain_recipe(run, told, model_names([run]) if models is None else models)
    params = {**run.params, **(told["params"] if told else {})}
    similarity = (
        _("%(similarity)s, own answer left out")
        if params.get("leave_one_out")
        else _("%(similarity)s, own answer included")
    )
    pairs = [
        ("method", method_title(run)),
        (
            "similarity",
            similarity
            % {"similarity": _(SIMILARITIES.get(params.get("similarity", ""), "cosine"))},
        ),
        ("encoder", encoder_words(told["encoder"] if told else params.get("encoder", ""))),
    ]
    if params.get("rank_by") in ("score", "adjusted"):
        pairs.append(
            (
                "ranked by",
                _("%(ranked_by)s, as asked") % {"ranked_by": _(RANKED_BY[params["rank_by"]])},
            )
        )
    if params.get("panel"):
        text = (
            _("of panel %(panel)s alone, with those to task %(also)s")
            if params.get("also")
            else _("of panel %(panel)s alone")
        )
        pairs.append(("answers", text % {"panel": params["panel"], "also": params.get("also")}))
    if params.get("start") not in (None, "equal"):
        judged_by = encoder_words(told.get("entailment", "") if told else "")
        text = _("%(start)s by %(by)s") if judged_by else "%(start)s"
        pairs.append(("start", text % {"start": params["start"], "by": judged_by}))
    resamples = {"resamples": count(params.get("resamples", 0))}
    pairs.append(("interval", _("bootstrap over questions, %(resamples)s") % resamples))
    pairs.append(("seed", str(run.seed)))
    if run.snapshot:
        taken = timezone.localtime(run.snapshot.created_at)
        pairs.append(("snapshot", f"{run.snapshot.content_hash[:8]}, {taken:%-d %b %Y %H:%M}"))
    if run.result_hash:
        pairs.append(("result", run.result_hash[:8]))
    return pairs


def _plain_recipe(
    run: Run, told: Mapping[str, Any] | None, models: Mapping[int, str]
) -> list[tuple[str, str]]:
    """The recipe of a method whose options are told by their names."""
    params = {**run.params, **(told.get("params", {}) if told else {})}
    if (asked := model_id(run)) is not None:
        params["model"] = models.get(asked, "removed" if asked else "none")
    pairs = [("method", method_title(run))]
    pairs += [
        (name.replace("_", " "), _value_words(value)) for name, value in sorted(params.items())
    ]
    pairs.append(("seed", str(run.seed)))
    if run.snapshot:
        pairs.append(("snapshot", run.snapshot.content_hash[:8]))
    if run.result_hash:
        pairs.append(("result", run.result_hash[:8]))
    return pairs


def _value_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return _("%(value)s chosen") % {"value": len(value)} if len(str(value)) > 60 else str(value)
    return _("by default") if value is None else str(value)
