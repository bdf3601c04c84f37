"""What a link shows of a free-text study to people without an account: no names, texts, answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crowdqc.numbers import mid_sentence, plural
from evaluation.free_text.selectors import boards as pages
from evaluation.free_text.selectors import findings, leaderboard, run_facts
from evaluation.models import Run
from evaluation.results import boards as board
from evaluation.results.findings import arrange
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads

METHOD = gettext_noop(
    "AQER compares what people wrote to the same questions. Whoever writes close to the others who "
    "do so too scores high. The interval shows how sure that is; it does not say that an answer is "
    "right."
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: boards with numbered workers, models, and the run."""
    told = reads.figures_of(run)
    rows = board.sorted_rows(leaderboard.worker_rows(run, {}), "score", ascending=False)
    places = {row.id: _("Worker %(place)s") % {"place": at} for at, row in enumerate(rows, 1)}
    for row in rows:
        row.id, row.name, row.flags = 0, places[row.id], []
    people = pages.workers_board(told, rows, page=page)
    systems = pages.systems(run, told)
    counts = told.get("recipe", {}).get("counts", {})
    worker_boards = [_named(one, _("Workers"), systems["rows"]) for one in people["boards"]]
    system_boards = [_named(one, _("Language models"), rows) for one in systems["boards"]]
    tables = [*pages.worker_tables(worker_boards), *pages.system_tables(system_boards)]
    return {
        "tables": [replace(table.public(), note="") for table in tables],
        "page": people["page"],
        "rows": [*rows, *board.sorted_rows(systems["rows"], "score", ascending=False)],
        "screen": arrange(
            [
                replace(
                    run_facts.first_place(rows, "worker"),
                    note=systems["sentence"] if systems["rows"] else "",
                ).finding(),
                *findings.public_warnings(told, places),
            ]
        ),
        "basis": (
            _("%(answers)s to %(questions)s by %(workers)s.")
            % {
                "answers": plural(counts.get("answers", 0), "answer"),
                "questions": plural(counts.get("questions", 0), "question"),
                "workers": plural(counts.get("workers", 0), "worker"),
            }
        ),
        "method": _(METHOD),
        "measure": _("Score"),
        "units": "answer,answers",
        "facts": [*run_facts.facts(told), *run_facts.fine_facts(told)],
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


def _named(one: board.Board, kind: str, others: Any) -> board.Board:
    """The board with a heading that says of whom it is, where there are several."""
    said = f"{kind}, {mid_sentence(one.heading)}" if one.heading else kind
    return replace(one, heading=said if others or one.heading else "")
