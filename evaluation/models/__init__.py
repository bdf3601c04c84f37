"""Models of the evaluation app, one module a subject."""

from evaluation.models.checklists import Checklist, ChecklistStage, ChecklistVersion, SetComparison
from evaluation.models.decisions import LabelDecision
from evaluation.models.deletion import ProjectDeletion
from evaluation.models.encoding import Embedding, EncodingShard
from evaluation.models.grading import AuditVerdict, ExplanationAudit, Grade, Grading
from evaluation.models.live import LiveBatch, LiveEvaluation, LiveJudging
from evaluation.models.llm import (
    CallState,
    CallUse,
    Endpoint,
    LanguageModel,
    LLMAttempt,
    LLMCall,
    OwnPrompt,
)
from evaluation.models.moving import ArchivePart, ProjectArchive, ProjectMove
from evaluation.models.operations import DeletedRows, DiscardedFailure, JobFailure, Sample
from evaluation.models.panels import PanelWatch, Selection, WatchNote
from evaluation.models.runs import (
    AdaptivePlan,
    BoardBundle,
    ItemDraw,
    OfficialRun,
    Run,
    RunSchedule,
    RunShare,
    RunState,
    Snapshot,
)
from evaluation.models.scores import (
    AnswerScore,
    CandidateScore,
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
    "ArchivePart",
    "AuditVerdict",
    "BoardBundle",
    "CallState",
    "CallUse",
    "CandidateScore",
    "Checklist",
    "ChecklistStage",
    "ChecklistVersion",
    "DeletedRows",
    "DiscardedFailure",
    "Embedding",
    "EncodingShard",
    "Endpoint",
    "ExplanationAudit",
    "Grade",
    "Grading",
    "ItemDraw",
    "ItemLabel",
    "ItemScore",
    "JobFailure",
    "LLMAttempt",
    "LLMCall",
    "LabelDecision",
    "LanguageModel",
    "LiveBatch",
    "LiveEvaluation",
    "LiveJudging",
    "OfficialRun",
    "OwnPrompt",
    "PanelWatch",
    "ProjectArchive",
    "ProjectDeletion",
    "ProjectMove",
    "RankedRow",
    "Run",
    "RunFigure",
    "RunSchedule",
    "RunShare",
    "RunState",
    "Sample",
    "ScoreRow",
    "Selection",
    "SetComparison",
    "Snapshot",
    "SystemScore",
    "WatchNote",
    "WorkerScore",
]
