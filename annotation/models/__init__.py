"""Tables of the collecting side, one module a subject."""

from .access import ApiToken, Hook, HookDelivery, KeptReply
from .answers import Answer, ChoiceValue, SpanValue, TextValue
from .assignments import Assignment, AssignmentItem
from .audit import AuditEntry, Heartbeat
from .candidates import Candidate, System
from .events import EventBatch, EventStream
from .exports import ExportFile, ExportPart
from .imports import ImportFile
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
    Payment,
    PaymentAttempt,
    PlatformEvent,
    Recruitment,
    Statement,
    UsedEntry,
    Visit,
)
from .tasks import Exclusion, Item, ItemGroup, Task, TaskVersion

__all__ = [
    "Answer",
    "ApiToken",
    "Assignment",
    "AssignmentItem",
    "AuditEntry",
    "Candidate",
    "ChoiceValue",
    "Consent",
    "ConsentText",
    "EventBatch",
    "EventStream",
    "Exclusion",
    "ExportFile",
    "ExportPart",
    "Heartbeat",
    "Hook",
    "HookDelivery",
    "ImportFile",
    "Invitation",
    "Item",
    "ItemGroup",
    "KeptReply",
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
