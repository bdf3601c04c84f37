"""What runs share that ask a model: the model, options, words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext, gettext_noop, ngettext

from annotation.models import Item, Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count
from evaluation.llm import estimate, prompting
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.calls import fetch_replies
from evaluation.llm.endpoints.probe import probe_model
from evaluation.methods.core.params import TEXT, Param, real_number, whole_number
from evaluation.models import LanguageModel, Run
from evaluation.runs.progress import Recorder

Row = dict[str, Any]
MOST_TOKENS, MOST_REPLICATES = 8000, 20
LISTED = 200  # failed or flagged answers that a figure names one by one
NOTHING_NEW = gettext_noop("Nothing new came, so nothing has to be run again."), "", ""


def chat_model(task: Task, pk: Any, use: str = LanguageModel.Use.CHAT) -> LanguageModel:
    """Return a model of the task's project by id; Invalid if it is not usable for ``use``."""
    rows = LanguageModel.objects.usable(task.project_id, use)
    found = rows.filter(pk=pk if isinstance(pk, int) else 0).first()
    if found is None:
        raise Invalid(
            gettext("There is no such model."),
            fields={"model": gettext("Choose one of the project’s.")},
        )
    return found


def asked_items(
    task: Task, *, known: bool = False, only: Collection[int] | None = None
) -> list[Item]:
    """The items of the version in force, as people meet them; Conflict before it is published.

    ``known``: also those whose answer is known; ``only``: those of these ids.
    """
    if task.current is None:
        raise Conflict(gettext("Publish the task first: answers name the version they answer."))
    rows = task.items.in_version(task.current.number)
    if not known:
        rows = rows.filter(expected__isnull=True)
    if only is not None:
        rows = rows.filter(pk__in=only)
    # A text that was erased with its writer is judged by nobody.
    rows = rows.exclude(Q(first__text="") | Q(second__text=""))
    rows = rows.select_related("group", "first", "second", "chat")
    return list(rows.order_by("group__position", "group_id", "position", "pk"))


MODEL = whole_number("model", 0, 0, 2**31, label=gettext_noop("Model"))
PROMPT = Param(
    "prompt",
    "",
    TEXT,
    high=80,
    label=gettext_noop("Prompt"),
    help=gettext_noop("The built-in one, or a version of one that this project wrote."),
)
WARMTH = gettext_noop("0: the most probable answer; higher: more varied ones.")


def temperature(default: float = 0.0, help_text: str = WARMTH) -> Param:
    """Return the option for the model's temperature."""
    return real_number(
        "temperature", default, 0, 2, label=gettext_noop("Temperature"), help=help_text
    )


def most_tokens(default: int, help_text: str) -> Param:
    """Return the option for the most tokens of an answer."""
    label = gettext_noop("Maximum tokens per answer")
    return whole_number("max_tokens", default, 1, MOST_TOKENS, label=label, help=help_text)


def replicates(label: str, help_text: str) -> Param:
    """Return the option for how often each question is asked."""
    return whole_number("replicates", 1, 1, MOST_REPLICATES, label=label, help=help_text)


def refs(prefix: str) -> list[str]:
    """List ``name@version`` of the prompts with this prefix, without it, newest first."""
    return [
        f"{name.removeprefix(prefix)}@{number}"
        for name, numbers in prompting.versions().items()
        if name.startswith(prefix)
        for number in reversed(numbers)
    ]


def template(prefix: str, ref: str) -> prompting.Template:
    """The prompt that ``refs`` names so."""
    name, _, number = ref.partition("@")
    return prompting.load(prefix + name, int(number))


def prompts_told(asks: Sequence[ModelQuestion]) -> Row:
    """Return the prompts that were used, with the SHA-256 of each template."""
    return {"prompts": {ask.prompt.ref: ask.prompt.digest for ask in asks}}


def sampling(params: Mapping[str, Any]) -> Row:
    """The options of a run that go with every request."""
    return {"temperature": params["temperature"], "max_tokens": params["max_tokens"]}


def temperature_label(temperature: float) -> str:
    """Return how a temperature is written in a system's name."""
    return f"t={temperature:g}"


def failures(replies: Sequence[Reply]) -> list[Row]:
    """List the questions without an answer and the reason, at most as many as a figure stores."""
    return [
        {"subject": reply.subject, "reason": reply.reason, "call": reply.call_id}
        for reply in replies
        if reply.value is None
    ][:LISTED]


def ask_model(
    run: Run, model: LanguageModel, asks: Sequence[ModelQuestion], steps: Recorder
) -> list[Reply]:
    """Return a reply for each question; a model that was never probed is probed first.

    Raises what ``fetch_replies`` raises, and Conflict where all calls failed: so did the run.
    """
    if asks and not model.can and not estimate.blocking(model):
        model.can = probe_model(by=run.started_by or run.project.owner, model=model).can
    replies = fetch_replies(run, model, asks, steps)
    if replies and all(reply.value is None for reply in replies):
        n, reason = len(replies), next(iter(reasons(replies)))
        raise Conflict(
            ngettext("The only call failed: %(reason)s", "All %(n)s calls failed: %(reason)s", n)
            % {"n": count(n), "reason": reason}
        )
    return replies


def reasons(replies: Sequence[Reply]) -> Row:
    """Count the reasons for missing answers, most frequent first."""
    found: dict[str, int] = {}
    for reply in replies:
        if reply.value is None:
            found[reply.reason or "no reason was given"] = (
                found.get(reply.reason or "no reason was given", 0) + 1
            )
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
