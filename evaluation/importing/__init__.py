"""What ``manage.py crowdqc_import`` takes in: a format is one class and one line here.

It stands on this side, since a published study brings results along that only this side stores.
"""

from __future__ import annotations

from evaluation.importing.base import Format
from evaluation.importing.crowdrag import CrowdRag, CrowdRagRaw
from evaluation.importing.crowdrag_writing import RESPONSES, TOPICS, CrowdRagWriting, WritingLogs
from evaluation.importing.ebr import Ebr
from evaluation.importing.free_text import FreeText
from evaluation.importing.judgments import (
    Arena,
    Candidates,
    CrowdKit,
    Judgments,
    LabelStudio,
    Reliability,
    StudyJson,
)
from evaluation.importing.summeval import SummEvalFolder, TextScores
from evaluation.importing.thinking import ATTRIBUTES, CHECKS, SAMPLES

FORMATS: dict[str, Format] = {
    one.slug: one
    for one in (
        FreeText(), Candidates(), StudyJson(), CrowdRag(), CrowdRagRaw(), CrowdRagWriting(),
        Arena(), CrowdKit(), Reliability(), LabelStudio(), Judgments(), TOPICS, RESPONSES,
        WritingLogs(),
        SummEvalFolder(), TextScores(), SAMPLES, ATTRIBUTES, CHECKS,
        Ebr(),
    )
}  # fmt: skip
