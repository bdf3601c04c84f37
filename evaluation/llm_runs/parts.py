"""What runs share that ask a model: the model, checks of options, words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import Q

from annotation.models import Item, Task
from crowdqc.errors import Conflict, Invalid
from evaluation.llm import prompting
from evaluation.llm.ask import Reply
from evaluation.methods.core.base import BadParameter
from evaluation.models import LanguageModel

Row = dict[str, Any]
MOST_TOKENS, MOST_REPLICATES = 8000, 20
LISTED = 200  # failed or flagged answers that a figure names one by one


def chat_model(task: Task, pk: Any) -> LanguageModel:
    """The model of the task's project; Invalid where there is none such that answers in words."""
    found = (
        LanguageModel.objects.filter(
            pk=pk if isinstance(pk, int) else 0,
            endpoint__project=task.project_id,
            endpoint__archived_at__isnull=True,
            archived_at__isnull=True,
            use=LanguageModel.Use.CHAT,
        )
        .select_related("endpoint")
        .first()
    )
    if found is None:
        raise Invalid("There is no such model.", fields={"model": "Choose one of the project’s."})
    return found


def asked_items(task: Task) -> list[Item]:
    """The items of the version in force, as people meet them; Conflict before it is published."""
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version they answer.")
    rows = task.items.in_version(task.current.number).filter(expected__isnull=True)
    # A text that was erased with its writer is judged by nobody.
    rows = rows.exclude(Q(first__text="") | Q(second__text=""))
    rows = rows.select_related("group", "first", "second")
    return list(rows.order_by("group__position", "group_id", "position", "pk"))


def check_number(name: str, value: Any, low: float, high: float, *, whole: bool) -> None:
    """Raise BadParameter on a number outside ``low..high``, or one that is not whole."""
    kind = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        raise BadParameter(f"{name} is {value!r}; it must be {what} from {low:g} to {high:g}")


def check_flag(name: str, value: Any) -> None:
    """Raise BadParameter on anything but yes or no."""
    if not isinstance(value, bool):
        raise BadParameter(f"{name} is {value!r}; it must be True or False")


def check_one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise BadParameter on a word that is not offered."""
    if value not in allowed:
        raise BadParameter(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


def check_prompt(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise BadParameter on a prompt (``name@version``) that is not there; "" is by default."""
    if value != "" and value not in known:
        raise BadParameter(f"{name} is {value!r}; it must be one of {', '.join(known)}")


COMMON: dict[str, Callable[[str, Any], None]] = {
    "model": lambda name, value: check_number(name, value, 0, 2**31, whole=True),
    "temperature": lambda name, value: check_number(name, value, 0, 2, whole=False),
    "max_tokens": lambda name, value: check_number(name, value, 1, MOST_TOKENS, whole=True),
    "replicates": lambda name, value: check_number(name, value, 1, MOST_REPLICATES, whole=True),
}


def check_all(params: Mapping[str, Any], own: Mapping[str, Callable[[str, Any], None]]) -> None:
    """Check each option that is given by the rule of its name."""
    for name, value in params.items():
        rule = own.get(name) or COMMON.get(name)
        if rule is not None:
            rule(name, value)


def refs(prefix: str) -> list[str]:
    """``name@version`` of every prompt whose name begins so, without the prefix; newest first."""
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


def sampling(params: Mapping[str, Any]) -> Row:
    """The options of a run that go with every request."""
    return {"temperature": params["temperature"], "max_tokens": params["max_tokens"]}


def warm(temperature: float) -> str:
    """How a system's name tells its temperature."""
    return f"t={temperature:g}"


def failures(replies: Sequence[Reply]) -> list[Row]:
    """What has no answer, with the reason; as many as a figure holds."""
    return [
        {"subject": reply.subject, "reason": reply.reason, "call": reply.call_id}
        for reply in replies
        if reply.value is None
    ][:LISTED]


def reasons(replies: Sequence[Reply]) -> Row:
    """How often each reason kept an answer away, the most frequent first."""
    found: dict[str, int] = {}
    for reply in replies:
        if reply.value is None:
            found[reply.reason or "no reason was given"] = (
                found.get(reply.reason or "no reason was given", 0) + 1
            )
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
