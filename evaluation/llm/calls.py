"""Asking a model many things at once: one row a call, none asked twice, nothing lost.

The one road to a language model. ``ask_all`` takes what a run wants to know and gives back a
reply for each; calls that were answered before, in whatever run, cost nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from crowdqc.errors import Conflict
from crowdqc.money import as_decimal
from evaluation.llm import completion, engine, estimate, ledger, wording
from evaluation.llm.ask import CapReached, ModelQuestion, Reply
from evaluation.llm.completion import Completion
from evaluation.llm.wording import ParsedAnswer, Size, key_of, messages_of, params_of
from evaluation.models import CallState, CallUse, LanguageModel, LLMCall, Run
from evaluation.runs.progress import Recorder

PART = 500  # rows read or written by one statement


def fetch_replies(
    run: Run,
    model: LanguageModel,
    asks: Sequence[ModelQuestion],
    steps: Recorder | None = None,
    source: type[Chat] | None = None,
) -> list[Reply]:
    """Return a reply for each question, in order, sending only those not answered before.

    ``source`` says how they are sent and read where that is not in words.

    Records that ``run`` used each call. Raises BudgetSpent, EndpointFails, Cancelled, Superseded,
    and Conflict where nothing can be asked at all (archived, no key, a budget without prices);
    what was answered until then stays. A call that fails by itself has no value and a reason.
    """
    ledger.sweep(model.endpoint_id)
    ids = _rows(run, model, asks)
    _use(run, asks, ids)
    first: dict[int, int] = {}
    for at, call_id in enumerate(ids):
        first.setdefault(call_id, at)
    open_ids = _open(first)
    cached = set(first) - set(open_ids)
    done_before, total = sum(call_id in cached for call_id in ids), len(ids)
    doubled = len(ids) - len(first)

    def tick(done: int) -> None:
        if steps is not None:
            # Questions that share a call are finished together; they count when all is.
            whole = done == len(open_ids)
            steps.advance(total if whole else min(total - doubled, done_before + done), total)

    tick(0)
    if open_ids:
        may_start(model)
        link = completion.link_of(model.endpoint)
        sent = (source or Chat)(model, asks, first)
        # Beyond what the run may cost nothing is asked: those questions have no value.
        with contextlib.suppress(CapReached):
            engine.Engine(model, link, sent, tick, _cap_of(run)).work(open_ids)
    return list(_replies(asks, ids, cached))


def _cap_of(run: Run) -> ledger.Cap | None:
    most = run.limits.get("cost")
    return None if most is None else ledger.Cap(run.pk, as_decimal(most), run.created_at)


def may_start(model: LanguageModel) -> None:
    """Raise Conflict where no call may be made at all: archived, or a budget without prices."""
    problems = estimate.blocking(model)
    if problems:
        raise Conflict(problems[0])


class Chat:
    """Questions in words, as the engine works on them; builds messages when they are sent."""

    path = completion.CHAT

    def __init__(
        self, model: LanguageModel, asks: Sequence[ModelQuestion], first: Mapping[int, int]
    ) -> None:
        self.model, self.asks, self.first = model, asks, first

    def _ask(self, call_id: int) -> ModelQuestion:
        return self.asks[self.first[call_id]]

    def size(self, call_id: int) -> Size:
        ask = self._ask(call_id)
        return wording.size_of_request(self.model, ask, messages_of(self.model, ask))

    def body(self, call_id: int) -> dict[str, Any]:
        ask = self._ask(call_id)
        return wording.body_of(self.model, ask, messages_of(self.model, ask))

    def read(self, call_id: int, found: Completion) -> ParsedAnswer:
        return wording.read(self.model, self._ask(call_id), found)

    def tries(self, call_id: int) -> int:
        return self._ask(call_id).tries


def _rows(run: Run, model: LanguageModel, asks: Sequence[ModelQuestion]) -> list[int]:
    """The id of each question's call, made where there was none."""
    ids: list[int] = []
    for start in range(0, len(asks), PART):
        part = asks[start : start + PART]
        told = [(ask, messages_of(model, ask)) for ask in part]
        keys = [key_of(model, ask, messages) for ask, messages in told]
        rows = {
            key: LLMCall(
                project_id=run.project_id,
                model=model,
                base_url=model.endpoint.base_url,
                model_name=model.name,
                key=key,
                prompt=ask.prompt.ref,
                messages=messages,
                params=params_of(ask),
                schema=ask.schema.name,
                replicate=ask.replicate,
            )
            for key, (ask, messages) in zip(keys, told, strict=True)
        }
        found = insert_or_get(run.project_id, rows)
        ids += [found[key] for key in keys]
    return ids


def insert_or_get(project_id: int, rows: Mapping[str, LLMCall]) -> dict[str, int]:
    """Insert the rows that are missing and return the ids of all by key."""
    found = _ids(project_id, rows)
    missing = sorted(set(rows) - set(found))  # in one order everywhere, so that nobody deadlocks
    if missing:
        LLMCall.objects.bulk_create((rows[key] for key in missing), ignore_conflicts=True)
        found.update(_ids(project_id, missing))
    return found


def _ids(project_id: int, keys: Collection[str]) -> dict[str, int]:
    rows = LLMCall.objects.filter(project_id=project_id, key__in=list(keys))
    return dict(rows.values_list("key", "pk"))


def _use(run: Run, asks: Sequence[ModelQuestion], ids: Sequence[int]) -> None:
    """Record that the run used each call for its subject.

    A subject asked for a second time with another prompt or replicate gets a number behind it.
    """
    there = dict(run.uses.values_list("subject", "call_id"))
    new: list[CallUse] = []
    for ask, call_id in zip(asks, ids, strict=True):
        subject, number = ask.subject, 1
        while there.get(subject, call_id) != call_id:
            number += 1
            subject = f"{ask.subject}#{number}"
        if subject not in there:
            there[subject] = call_id
            new.append(CallUse(run=run, call_id=call_id, subject=subject))
    CallUse.objects.bulk_create(new, batch_size=2 * PART, ignore_conflicts=True)


def _open(ids: Collection[int]) -> list[int]:
    """The calls that are not answered, in their order; failed ones are put in the queue again."""
    wanted = list(ids)
    done: set[int] = set()
    failed: list[int] = []
    for start in range(0, len(wanted), 2 * PART):
        rows = LLMCall.objects.filter(pk__in=wanted[start : start + 2 * PART])
        done.update(rows.filter(state=CallState.DONE).values_list("pk", flat=True))
        failed += rows.filter(state=CallState.FAILED).values_list("pk", flat=True)
    if failed:
        LLMCall.objects.filter(pk__in=failed, state=CallState.FAILED).update(
            state=CallState.QUEUED, not_before=None, finished_at=None
        )
    return [call_id for call_id in wanted if call_id not in done]


def _replies(
    asks: Sequence[ModelQuestion], ids: Sequence[int], cached: Collection[int]
) -> Iterator[Reply]:
    names = ("pk", "value", "text", "reason", "chances")
    for start in range(0, len(ids), PART):
        part = ids[start : start + PART]
        rows = {row[0]: row for row in LLMCall.objects.filter(pk__in=part).values_list(*names)}
        for at, call_id in enumerate(part, start):
            _, value, text, reason, chances = rows[call_id]
            yield Reply(asks[at].subject, call_id, value, text, reason, call_id in cached, chances)
