"""Every method whose runs can be bundled, and so have a report: one line a method."""

from __future__ import annotations

from evaluation.bundles.kinds.base import Kind
from evaluation.bundles.kinds.checks import OfChecks
from evaluation.bundles.kinds.choices import OfChoices, OfLabels
from evaluation.bundles.kinds.explanations import OfExplanations
from evaluation.bundles.kinds.judgments import OfJudgments
from evaluation.bundles.kinds.responses import OfResponses
from evaluation.bundles.kinds.texts import OfTexts, OfVoters, OfWriters
from evaluation.bundles.kinds.traces import OfTraces
from evaluation.bundles.kinds.turns import OfTurns

KINDS: dict[str, Kind] = {
    "aqer": OfTexts(),
    "aqer_joint": OfVoters(),
    "pairwise": OfJudgments(),
    "ratings": OfJudgments(rated=True),
    "labels": OfLabels(),
    "replacement": OfChoices(),
    "replacement_texts": OfWriters(),
    "rescaling": OfExplanations(),
    "checklist": OfChecks(),
    "writing": OfResponses(),
    "trace_rates": OfTraces(),
    "turn_study": OfTurns(),
}
