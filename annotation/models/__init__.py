"""Tables of the collecting side, one module a subject."""

from .answers import Answer, ChoiceValue, SpanValue, TextValue
from .assignments import Assignment, AssignmentItem
from .audit import AuditEntry, Heartbeat
from .candidates import Candidate, System
from .events import EventBatch, EventStream
from .imports import ImportFile
from .payouts import LedgerEntry, PayoutBatch, PayoutLine, Rejection
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
from .tasks import Exclusion, Item, ItemGroup, Task, TaskVersion

__all__ = [
    "Answer",
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
    "Heartbeat",
    "ImportFile",
    "Invitation",
    "Item",
    "ItemGroup",
    "LedgerEntry",
    "Membership",
    "Panel",
    "PanelMember",
    "PayoutBatch",
    "PayoutLine",
    "Project",
    "Qualification",
    "Rejection",
    "Role",
    "SpanValue",
    "System",
    "Task",
    "TaskVersion",
    "TextValue",
    "User",
]
