"""Tables of the judging side, one module a subject."""

from evaluation.models.checklists import Checklist, ChecklistStage, ChecklistVersion, SetComparison
from evaluation.models.grading import AuditVerdict, ExplanationAudit, Grade, Grading
from evaluation.models.llm import CallState, CallUse, Endpoint, LanguageModel, LLMAttempt, LLMCall
from evaluation.models.panels import PanelWatch, Selection, WatchNote
from evaluation.models.runs import AdaptivePlan, OfficialRun, Run, RunSchedule, RunState, Snapshot
from evaluation.models.scores import (
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
