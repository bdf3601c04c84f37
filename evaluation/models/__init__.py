"""Tables of the judging side, one module a subject."""

from .checklists import Checklist, ChecklistStage, ChecklistVersion, SetComparison
from .grading import AuditVerdict, ExplanationAudit, Grade, Grading
from .llm import CallState, CallUse, Endpoint, LanguageModel, LLMAttempt, LLMCall
from .panels import PanelWatch, Selection, WatchNote
from .runs import AdaptivePlan, OfficialRun, Run, RunSchedule, RunState, Snapshot
from .scores import (
    AnswerScore,
    CandidateScore,
    Embedding,
    ItemLabel,
    ItemScore,
    RankedRow,
    RunFigure,
    ScoreRow,
    SystemScore,
    WorkerScore,
)

__all__ = [
    "AdaptivePlan",
    "AnswerScore",
    "AuditVerdict",
    "CallState",
    "CallUse",
    "CandidateScore",
    "Checklist",
    "ChecklistStage",
    "ChecklistVersion",
    "Embedding",
    "Endpoint",
    "ExplanationAudit",
    "Grade",
    "Grading",
    "ItemLabel",
    "ItemScore",
    "LLMAttempt",
    "LLMCall",
    "LanguageModel",
    "OfficialRun",
    "PanelWatch",
    "RankedRow",
    "Run",
    "RunFigure",
    "RunSchedule",
    "RunState",
    "ScoreRow",
    "Selection",
    "SetComparison",
    "Snapshot",
    "SystemScore",
    "WatchNote",
    "WorkerScore",
]
