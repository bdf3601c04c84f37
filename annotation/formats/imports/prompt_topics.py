"""The topic of a prompt that a file gives no topic id: a task's own, apart from other tasks'."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

PREFIX = "prompt-"
LENGTH = len(PREFIX) + 16  # of the topic that every task would give a prompt


def topic_of_prompt(prompt: str) -> str:
    """Name a prompt by its hash: the same prompt has the same name."""
    return f"{PREFIX}{hashlib.sha256(prompt.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class PromptTopics:
    """Finds the topic of a prompt: the one the task holds, else one that has no texts yet.

    The texts that a project has on a prompt are those of other tasks or of earlier files. They come
    into a task where its requester takes them, never because another file has the same prompt.
    """

    held: Mapping[str, str] = field(default_factory=dict)  # name of a prompt -> the task's topic
    # Topics of prompts with texts in the project, in order; a mapping, whose hash is stable.
    taken: Mapping[str, None] = field(default_factory=dict)

    def topic_of(self, prompt: str) -> str:
        """Return the topic of a prompt in the task."""
        name = topic_of_prompt(prompt)
        return self.held.get(name) or next(one for one in _names(name) if one not in self.taken)

    def other_topics(self, topic: str) -> list[str]:
        """Return the other topics of the project on the same prompt."""
        names = itertools.takewhile(self.taken.__contains__, _names(topic[:LENGTH]))
        return [one for one in names if one != topic]


def _names(name: str) -> Iterator[str]:
    yield name
    for number in itertools.count(2):
        yield f"{name}-{number}"


NO_TOPICS = PromptTopics()  # of what is no task, or judges no texts
