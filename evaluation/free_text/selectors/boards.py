"""The contexts of the two boards' pages, from a finished run's rows and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.access import Access
from crowdqc.numbers import plural
from evaluation.free_text.columns import SYSTEMS, WORKERS
from evaluation.free_text.selectors import leaderboard
from evaluation.free_text.selectors.findings import plural_answers
from evaluation.models import Run
from evaluation.results import boards as board
from evaluation.results.tables import ResultTable


def _parts(told: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    return {part["number"]: part for part in told.get("components", [])}


def _sentences(*said: str) -> str:
    """Join the sentences that are not empty."""
    return " ".join(one for one in said if one)


def state_words(run: Run) -> str:
    """``Run 3 finished``."""
    return _("Run %(run)s finished") % {"run": run.number}


def workers_board(
    told: Mapping[str, Any],
    rows: Sequence[board.Row],
    *,
    page: Any,
    by: str = "score",
    ascending: bool = False,
) -> dict[str, Any]:
    """Return one page of the workers' boards with its summary."""
    parts = _parts(told)
    shown = board.page_of(board.sorted_rows(rows, by, ascending=ascending), page)
    groups = told.get("groups", [])
    made = board.boards(
        rows,
        list(shown.object_list),
        groups=groups,
        references={number: part["mean"] for number, part in parts.items()},
        adjusted={number: part["ranked_by"] == "adjusted" for number, part in parts.items()},
        grouped=by == "score" and not ascending,
    )
    ending = ""
    if len(parts) > 1:
        ending = _("They stand on %(boards)s, which do not compare.") % {
            "boards": plural(len(parts), "board")
        }
    return {"boards": made, "page": shown, "ending": ending}


def worker_tables(
    boards: Sequence[board.Board], sorts: Mapping[str, Any] | None = None
) -> list[ResultTable]:
    """A table a board of workers."""
    return [
        one.table(
            leaderboard.columns_of(one, WORKERS),
            title=_("Workers by score, with 95% CIs"),
            note=_("Compare nobody here with people of another board."),
            sorts=sorts,
        )
        for one in boards
    ]


def system_tables(boards: Sequence[board.Board]) -> list[ResultTable]:
    """A table a board of language models."""
    return [
        one.table(
            SYSTEMS,
            title=_("Language models by score, with 95% CIs"),
            note=_("Compare no system here with one of another board."),
        )
        for one in boards
    ]


def workers(
    access: Access,
    run: Run,
    told: Mapping[str, Any],
    *,
    by: str,
    ascending: bool,
    page: Any,
    keep: str = "",
) -> dict[str, Any]:
    """Tables, page, header sentence and names of the workers' page."""
    rows = leaderboard.worker_rows(run, told.get("log", {}))
    leaderboard.link_workers(rows, access)
    found = workers_board(told, rows, page=page, by=by, ascending=ascending)
    counts = told.get("recipe", {}).get("counts", {})
    return {
        "tables": worker_tables(found["boards"], board.sorts(by, ascending=ascending, keep=keep)),
        "boards": found["boards"],
        "page": found["page"],
        "rows": rows,
        "names": {row.id: row.name for row in rows},
        "any_log": any(row.pasted is not None for row in rows),
        "state_words": state_words(run),
        "sentence": _sentences(
            _("%(workers)s, %(answers)s to %(questions)s.")
            % {
                "workers": plural(counts.get("workers", 0), "worker"),
                "answers": plural(counts.get("answers", 0), "answer"),
                "questions": plural(counts.get("questions", 0), "question"),
            },
            _typically(told),
            found["ending"],
        ),
    }


def _typically(told: Mapping[str, Any]) -> str:
    """``Typically 3 answers per question.``, of one board alone."""
    found = told.get("redundancy", [])
    if len(found) != 1:
        return ""
    return _("Typically %(answers)s per question.") % {
        "answers": plural_answers(found[0]["answers"])
    }


def systems(run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """Boards, header sentence and references of the systems' page."""
    rows = leaderboard.system_rows(run)
    parts = _parts(told)
    means = {number: part["raw_mean"] for number, part in parts.items()}
    for row in rows:
        mean = means.get(row.component)
        if row.sure and row.estimate is not None and mean is not None:
            row.difference = row.estimate - mean
    groups = told.get("system_groups", [])
    made = board.boards(
        rows,
        board.sorted_rows(rows, "score", ascending=False),
        groups=groups,
        references=means,
        adjusted={},
        grouped=True,
        noun="system",
    )
    counts = told.get("recipe", {}).get("counts", {})
    params = told.get("recipe", {}).get("params", {})
    return {
        "tables": system_tables(made),
        "boards": made,
        "rows": rows,
        "references": [
            {"number": number, "mean": part["raw_mean"], "best": part["raw_best"]}
            for number, part in parts.items()
        ],
        "own_included": not params.get("leave_one_out", True),
        "state_words": state_words(run),
        "sentence": _sentences(
            _("%(systems)s, %(answers)s.")
            % {
                "systems": plural(counts.get("systems", 0), "system"),
                "answers": plural(counts.get("system_answers", 0), "answer"),
            },
        ),
    }
