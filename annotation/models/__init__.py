"""Models of the annotation app, one module a subject."""

from annotation.models.access import ApiToken, Hook, HookDelivery, KeptReply
from annotation.models.accounts import AccountMail, SavedView
from annotation.models.answers import (
    Answer,
    AnswerCount,
    ChoiceValue,
    JudgmentCount,
    SpanValue,
    TextValue,
)
from annotation.models.assignments import Assignment, AssignmentItem, Recording, Transcript
from annotation.models.audit import AuditEntry, Heartbeat
from annotation.models.candidates import Candidate, ChatContent, System
from annotation.models.corrections import Correction, CorrectionTransfer
from annotation.models.events import EventBatch, EventStream
from annotation.models.exports import ExportFile
from annotation.models.files import MediaContent, MediaFile, StoredFile
from annotation.models.imports import ColumnChoice, ImportFile, ImportPart
from annotation.models.installation import InstallationState
from annotation.models.notices import Announcement, Conversation, Message, Notice
from annotation.models.organisations import Organisation, OrganisationMember, OrganisationRole
from annotation.models.payouts import LedgerEntry, PayoutBatch, PayoutLine, PayoutRule, Rejection
from annotation.models.people import (
    AgreedText,
    Consent,
    ConsentText,
    Invitation,
    Membership,
    Panel,
    PanelMember,
    Project,
    ProjectPlugin,
    QuotaOverride,
    Role,
    User,
    WorkerOrigin,
)
from annotation.models.qualification import Qualification
from annotation.models.recruitment import (
    KeySet,
    Payment,
    PaymentAttempt,
    PaymentDetails,
    PlatformEvent,
    Recruitment,
    Statement,
    UsedEntry,
    Visit,
)
from annotation.models.roles import RoleGrant
from annotation.models.security import SecurityEvent
from annotation.models.tasks import Exclusion, Item, ItemGroup, Task, TaskVersion
from annotation.models.traces import Trace, TraceScore, TraceSource, TraceSpan, TraceView

__all__ = [
    "AccountMail",
    "AgreedText",
    "Announcement",
    "Answer",
    "AnswerCount",
    "ApiToken",
    "Assignment",
    "AssignmentItem",
    "AuditEntry",
    "Candidate",
    "ChatContent",
    "ChoiceValue",
    "ColumnChoice",
    "Consent",
    "ConsentText",
    "Conversation",
    "Correction",
    "CorrectionTransfer",
    "EventBatch",
    "EventStream",
    "Exclusion",
    "ExportFile",
    "Heartbeat",
    "Hook",
    "HookDelivery",
    "ImportFile",
    "ImportPart",
    "InstallationState",
    "Invitation",
    "Item",
    "ItemGroup",
    "JudgmentCount",
    "KeptReply",
    "KeySet",
    "LedgerEntry",
    "MediaContent",
    "MediaFile",
    "Membership",
    "Message",
    "Notice",
    "Organisation",
    "OrganisationMember",
    "OrganisationRole",
    "Panel",
    "PanelMember",
    "Payment",
    "PaymentAttempt",
    "PaymentDetails",
    "PayoutBatch",
    "PayoutLine",
    "PayoutRule",
    "PlatformEvent",
    "Project",
    "ProjectPlugin",
    "Qualification",
    "QuotaOverride",
    "Recording",
    "Recruitment",
    "Rejection",
    "Role",
    "RoleGrant",
    "SavedView",
    "SecurityEvent",
    "SpanValue",
    "Statement",
    "StoredFile",
    "System",
    "Task",
    "TaskVersion",
    "TextValue",
    "Trace",
    "TraceScore",
    "TraceSource",
    "TraceSpan",
    "TraceView",
    "Transcript",
    "UsedEntry",
    "User",
    "Visit",
    "WorkerOrigin",
]
