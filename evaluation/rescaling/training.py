"""Scored explanations as examples to tune a language model on (Wadhwa et al. 2024, Limitations)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evaluation.models import AuditVerdict, CallState, Run
from evaluation.rescaling.calls import BATCH, answer_of_use


def training_lines(run: Run) -> Iterator[str]:
    """A line of JSON a scored explanation: the prompt's messages, then the score as the answer.

    The form is that of chat models' tuning files. Left out: calls without a number or an own
    prompt (imported or erased), a prompt that was shown already, and explanations that a judge of
    an audit disagreed with.
    """
    doubted = set(
        AuditVerdict.objects.filter(audit__task=run.task_id, agrees=False).values_list(
            "answer_id", flat=True
        )
    )
    shown: set[int] = set()
    for use in run.uses.select_related("call").order_by("pk").iterator(BATCH):
        call = use.call
        usable = call.state == CallState.DONE and call.value is not None and call.messages
        if not usable or call.pk in shown or answer_of_use(use) in doubted:
            continue
        shown.add(call.pk)
        said = {"role": "assistant", "content": json.dumps(call.value)}
        yield json.dumps({"messages": [*call.messages, said]}, ensure_ascii=False) + "\n"
