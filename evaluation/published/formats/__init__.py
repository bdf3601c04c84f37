"""What ``manage.py crowdqc_import`` takes in: a format is one class and one line here.

It stands on this side, since a published study brings results along that only this side stores.
"""

from __future__ import annotations

from evaluation.published.formats.base import Format
from evaluation.published.formats.chats import Chats
from evaluation.published.formats.crowdrag import CrowdRag, CrowdRagRaw
from evaluation.published.formats.crowdrag_writing import (
    RESPONSES,
    TOPICS,
    CrowdRagWriting,
    WritingLogs,
    WritingRows,
)
from evaluation.published.formats.ebr import Ebr
from evaluation.published.formats.free_text import FreeText
from evaluation.published.formats.judgments import (
    Arena,
    Candidates,
    CrowdKit,
    Judgments,
    LabelStudio,
    Reliability,
    StudyJson,
)
from evaluation.published.formats.summeval import SummEvalFolder, TextScores

SAMPLES = WritingRows(
    "samples", "rubrics with scored samples, into the draft of a think-aloud task"
)
ATTRIBUTES = WritingRows("attributes", "attributes of people and models, into a think-aloud task")
LABELS = WritingRows("labels", "labels of people and models, into a task of labels")
CHECKS = WritingRows("checks", "checklists of people and models, into a checklist task")


FORMATS: dict[str, Format] = {
    one.slug: one
    for one in (
        FreeText(),
        Candidates(),
        StudyJson(),
        CrowdRag(),
        CrowdRagRaw(),
        CrowdRagWriting(),
        Arena(),
        CrowdKit(),
        Reliability(),
        LabelStudio(),
        Judgments(),
        TOPICS,
        RESPONSES,
        WritingLogs(),
        SummEvalFolder(),
        TextScores(),
        SAMPLES,
        ATTRIBUTES,
        CHECKS,
        LABELS,
        Ebr(),
        Chats(),
    )
}
