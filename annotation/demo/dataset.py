"""What the demo is loaded from, as types: texts, questions, invented workers and systems.

All of it was written for this project; nobody's real answers are in it. ``grade`` (0 to 5) is the
authors' own mark of an answer and ``planted`` (0 to 1) the quality a worker or a system was written
with, close to its mean grade / 5. Both are for tests and demonstrations; no method sees them.
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("careful", "ordinary", "hasty", "dont_know", "copy_paster", "confidently_wrong")
TOP_GRADE = 5


@dataclass(frozen=True)
class Question:
    """One factual question about a text; its answer stands in the text."""

    id: str
    question: str


@dataclass(frozen=True)
class Text:
    """A passage, as paragraphs, with its questions."""

    id: str
    title: str
    topic: str
    may_look_back: bool
    passage: tuple[str, ...]
    questions: tuple[Question, ...]

    @property
    def context(self) -> str:
        """The passage as one string, a blank line between paragraphs."""
        return "\n\n".join(self.passage)


@dataclass(frozen=True)
class Worker:
    """An invented worker: pseudonym, how they work (one of KINDS), planted quality 0 to 1."""

    id: str
    kind: str
    planted: float


@dataclass(frozen=True)
class WorkerAnswer:
    """What a worker wrote; ``declined`` where it says in some way "I don't know"."""

    worker: str
    item: str
    grade: int
    text: str
    declined: bool = False


@dataclass(frozen=True)
class System:
    """An invented language model under one prompt strategy, with its planted quality 0 to 1."""

    system: str
    prompt_strategy: str
    planted: float


@dataclass(frozen=True)
class SystemAnswer:
    """A system's answer to a question."""

    system: str
    prompt_strategy: str
    item: str
    grade: int
    text: str


@dataclass(frozen=True)
class DemoData:
    """Everything the demo project is loaded from; ``instructions`` are Markdown."""

    title: str
    instructions: str
    texts: tuple[Text, ...]
    workers: tuple[Worker, ...]
    answers: tuple[WorkerAnswer, ...]
    systems: tuple[System, ...]
    system_answers: tuple[SystemAnswer, ...]

    def text_of(self, item: str) -> Text:
        """The text that a question belongs to; KeyError if there is no such question."""
        for text in self.texts:
            if any(question.id == item for question in text.questions):
                return text
        raise KeyError(item)

    def answers_of(self, worker: str) -> tuple[WorkerAnswer, ...]:
        """A worker's answers in the order of the questions."""
        return tuple(answer for answer in self.answers if answer.worker == worker)
