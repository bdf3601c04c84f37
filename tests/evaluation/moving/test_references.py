"""Ids inside JSON and texts are rewritten, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.records.selectors.audit_words import SENTENCES
from evaluation.moving import tables
from evaluation.moving.references import REFERENCES, Rewriter

MOVED = Rewriter(1_000_000, lambda pk: pk + 7)
UUID = "12345678-9012-4345-8678-901234567890"


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("annotation.LedgerEntry.debit", "work:12", "work:1000012"),
        ("annotation.LedgerEntry.credit", "paid:prolific-3", "paid:prolific-1000003"),
        ("annotation.LedgerEntry.credit", "paid:hand", "paid:hand"),
        ("annotation.LedgerEntry.key", "base:5", "base:1000005"),
        ("annotation.LedgerEntry.key", "statement:5:0:fee", "statement:1000005:0:fee"),
        ("annotation.LedgerEntry.key", "statement:5:3", "statement:1000005:3"),
        (
            "annotation.LedgerEntry.key",
            "correction-payment:5:6",
            "correction-payment:1000005:1000006",
        ),
        ("annotation.LedgerEntry.key", f"correction:{UUID}", f"correction:{UUID}"),
        ("annotation.LedgerEntry.key", f"correction:{UUID}:to", f"correction:{UUID}:to"),
        ("evaluation.CallUse.subject", "pair:5/1/pair:6", "pair:1000005/1/pair:1000006"),
        ("evaluation.CallUse.subject", "item:5/q2", "item:1000005/q2"),
        ("evaluation.Run.lane", "panel 5", "panel 1000005"),
        ("evaluation.Run.lane", "5/article", "1000005/article"),
        ("evaluation.Run.lane", "", ""),
        ("evaluation.Run.params", {"model": 5, "draws": 5}, {"model": 1000005, "draws": 5}),
        ("evaluation.Run.params", {"model": 0}, {"model": 0}),
        (
            "evaluation.Run.params",
            {"encoder": "endpoint:5"},
            {"encoder": "endpoint:1000005"},
        ),
        ("evaluation.Snapshot.answer_ids", [1, 2], [1000001, 1000002]),
        (
            "evaluation.Snapshot.counts",
            {"max_id": 4, "answers": 4, "mark": {"max_id": 4, "counting": 4}},
            {"max_id": 1000004, "answers": 4, "mark": {"max_id": 1000004, "counting": 4}},
        ),
        ("evaluation.ItemDraw.chances", {"4": 0.5}, {"1000004": 0.5}),
        (
            "evaluation.LiveEvaluation.seen",
            {"mark": [[["better", 1, 2, "first", False, 3]], [3]], "votes": 3},
            {"mark": [[["better", 1000001, 1000002, "first", False, 3]], [3]], "votes": 3},
        ),
        ("annotation.AuditEntry.detail:audit.open", {"judge": 3, "n": 3}, {"judge": 10, "n": 3}),
        (
            "annotation.EventBatch.events",
            [{"target": "item-4", "t": 4}, {"target": "answer"}],
            [{"target": "item-1000004", "t": 4}, {"target": "answer"}],
        ),
        (
            "evaluation.RunFigure.data:clusters",
            [{"listed": [{"answer": 1, "question": 2, "n": 2, "without": [{"worker": 3}]}]}],
            [
                {
                    "listed": [
                        {
                            "answer": 1000001,
                            "question": 1000002,
                            "n": 2,
                            "without": [{"worker": 1000003}],
                        }
                    ]
                }
            ],
        ),
        (
            "annotation.Statement.rows",
            [{"assignment": 5, "before": [6, 2], "payment": None, "amount": "5"}],
            [{"assignment": 1000005, "before": [1000006, 2], "payment": None, "amount": "5"}],
        ),
        ("evaluation.RunFigure.data:pair", [{"pair": -1, "n": 2}], [{"pair": -1, "n": 2}]),
    ],
)
def test_ids_are_rewritten(field: str, before: Any, after: Any) -> None:
    assert MOVED.rewrite(field, before) == after


def test_every_rule_is_of_a_column_that_there_is() -> None:
    columns = {
        f"{tables.label(model)}.{field.name}"
        for model in tables.ordered()
        for field in model._meta.concrete_fields
    }
    actions = set()
    for name in REFERENCES:
        column, _, variant = name.partition(":")
        assert column in columns, name
        if column == "annotation.AuditEntry.detail":
            actions.add(variant)
    assert actions <= set(SENTENCES)
