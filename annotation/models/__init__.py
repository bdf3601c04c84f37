"""Tables of the collecting side, one module a subject."""

from .answers import Answer, ChoiceValue, SpanValue, TextValue
from .assignments import Assignment, AssignmentItem
from .audit import AuditEntry, Heartbeat
from .candidates import System
from .events import EventBatch, EventStream
from .imports import ImportFile
from .payouts import LedgerEntry, PayoutBatch, PayoutLine, Rejection
from .people import Consent, ConsentText, Invitation, Membership, Project, Role, User
from .tasks import Item, ItemGroup, Task, TaskVersion

__all__ = [
    "Answer",
    "Assignment",
    "AssignmentItem",
    "AuditEntry",
    "ChoiceValue",
    "Consent",
    "ConsentText",
    "EventBatch",
    "EventStream",
    "Heartbeat",
    "ImportFile",
    "Invitation",
    "Item",
    "ItemGroup",
    "LedgerEntry",
    "Membership",
    "PayoutBatch",
    "PayoutLine",
    "Project",
    "Rejection",
    "Role",
    "SpanValue",
    "System",
    "Task",
    "TaskVersion",
    "TextValue",
    "User",
]
