"""Tables of the collecting side, one module a subject."""

from .access import ApiToken, Hook, HookDelivery, KeptReply
from .accounts import AccountMail
from .answers import Answer, ChoiceValue, SpanValue, TextValue
from .assignments import Assignment, AssignmentItem
from .audit import AuditEntry, Heartbeat
from .candidates import Candidate, System
from .corrections import Correction
from .events import EventBatch, EventStream
from .exports import ExportFile, ExportPart
from .imports import ImportFile, ImportPart
from .notices import Notice
from .payouts import LedgerEntry, PayoutBatch, PayoutLine, PayoutRule, Rejection
from .people import (
    Consent,
    ConsentText,
    Invitation,
    Membership,
    Panel,
    PanelMember,
    Project,
    Role,
    User,
)
from .qualification import Qualification
from .recruitment import (
    KeySet,
    Payment,
    PaymentAttempt,
    PlatformEvent,
    Recruitment,
    Statement,
    UsedEntry,
    Visit,
)
from .roles import RoleGrant
from .security import SecurityEvent
from .tasks import Exclusion, Item, ItemGroup, Task, TaskVersion

__all__ = [
    "AccountMail",
    "Answer",
    "ApiToken",
    "Assignment",
    "AssignmentItem",
    "AuditEntry",
    "Candidate",
    "ChoiceValue",
    "Consent",
    "ConsentText",
    "Correction",
    "EventBatch",
    "EventStream",
    "Exclusion",
    "ExportFile",
    "ExportPart",
    "Heartbeat",
    "Hook",
    "HookDelivery",
    "ImportFile",
    "ImportPart",
    "Invitation",
    "Item",
    "ItemGroup",
    "KeptReply",
    "KeySet",
    "LedgerEntry",
    "Membership",
    "Notice",
    "Panel",
    "PanelMember",
    "Payment",
    "PaymentAttempt",
    "PayoutBatch",
    "PayoutLine",
    "PayoutRule",
    "PlatformEvent",
    "Project",
    "Qualification",
    "Recruitment",
    "Rejection",
    "Role",
    "RoleGrant",
    "SecurityEvent",
    "SpanValue",
    "Statement",
    "System",
    "Task",
    "TaskVersion",
    "TextValue",
    "UsedEntry",
    "User",
    "Visit",
]
