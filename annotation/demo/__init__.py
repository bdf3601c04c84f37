"""The demo project's own data: two texts, sixteen questions, 24 invented workers, 4 systems.

All of it was written for this project; nobody's real answers are in it. ``grade`` (0 to 5) is the
authors' own mark of an answer and ``planted`` (0 to 1) the quality a worker or a system was written
with, close to its mean grade / 5. Both are for tests and demonstrations; no method sees them.
"""

from annotation.demo.dataset import (
    KINDS,
    TOP_GRADE,
    DemoData,
    Question,
    System,
    SystemAnswer,
    Text,
    Worker,
    WorkerAnswer,
)
from annotation.demo.reading import read as load

__all__ = [
    "KINDS",
    "TOP_GRADE",
    "DemoData",
    "Question",
    "System",
    "SystemAnswer",
    "Text",
    "Worker",
    "WorkerAnswer",
    "load",
]
