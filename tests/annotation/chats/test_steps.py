"""Steps of a trace as pages show them: a tree beside a time line, blind for workers."""

from __future__ import annotations

import json

from annotation.chats.model import Chat, Span, Turn, text_part
from annotation.chats.steps import MANY, view_steps
from tests.annotation.chats.made import make_trace

ANSWER = Turn(role="assistant", parts=(text_part("Done."),), model="alder-70b")


def test_a_trace_opens_at_the_first_answer_after_an_error() -> None:
    steps = view_steps(make_trace())
    assert (steps.number, steps.errors, steps.seconds) == (6, 2, 8.4)
    assert [row.name for row in steps.rows if row.is_first_shown] == ["write_answer"]
    assert [row.message for row in steps.rows if row.message] == ["no answer from carrier"]
    assert [(row.indent, *(row.bar or ())) for row in steps.rows][:4] == [
        (0, "0.0", "100.0"),
        (1, "0.0", "10.7"),
        (1, "17.9", "59.5"),
        (2, "19.0", "58.3"),
    ]
    calm = Chat(turns=(ANSWER,), spans=(Span(id="a", name="x"), Span(id="b", name="y", turn=1)))
    assert [row.is_first_shown for row in view_steps(calm).rows] == [False, True]
    assert [row.bar for row in view_steps(calm).rows] == [None, None]


def test_a_worker_does_not_see_which_model_made_a_step() -> None:
    attributes = json.dumps({"gen_ai.request.model": "birch-7b"})
    spans = (
        Span(id="a", name="chat alder-70b", kind="model", turn=1),
        Span(
            id="b", name="BIRCH-7B", kind="model", attributes=attributes, is_error=True,
            message="birch-7b is overloaded",
        ),
    )  # fmt: skip
    chat = Chat(turns=(ANSWER,), spans=spans)
    assert [row.name for row in view_steps(chat).rows] == ["chat", "model"]
    assert view_steps(chat).rows[1].message == "is overloaded"
    assert [row.name for row in view_steps(chat, facts=True).rows] == ["chat alder-70b", "BIRCH-7B"]


def test_equal_steps_of_a_long_trace_share_a_row_but_never_one_that_failed() -> None:
    searches = [Span(id=f"s{n}", name="search", offset=n, seconds=0.5) for n in range(MANY + 1)]
    searches[20] = searches[20].model_copy(update={"is_error": True})
    rows = view_steps(Chat(turns=(), spans=tuple(searches))).rows
    assert [row.times for row in rows] == [20, 1, MANY - 20]
    assert rows[0].bar == ("0.0", "32.2")
    few = view_steps(Chat(turns=(), spans=tuple(searches[:MANY]))).rows
    assert len(few) == MANY
