"""The rows of a run on written responses as files."""

from __future__ import annotations

from evaluation.methods.writing.signals import SIGNALS
from evaluation.models import AnswerScore
from evaluation.results.files import StoredTable, named, stored
from evaluation.runs.exports.tables import ANSWER

FIGURES = (
    "statements citations documents unknown order bleu heavy readability source_readability minutes"
)
# A signal's state is fired, quiet, not_recorded or too_little.
OF_SIGNALS = [f"{part}.{signal.slug}" for part in ("states", "values") for signal in SIGNALS]
TABLES = {
    "responses": StoredTable(
        AnswerScore,
        (
            *ANSWER[:1],
            *named(topic="answer__item__group__key", style="answer__item__settings__style"),
            *ANSWER[1:],
            *named(words="estimate"),
            *stored(*FIGURES.split(), *OF_SIGNALS, inside="extra"),
        ),
    )
}
