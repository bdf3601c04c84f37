"""Sources of texts and answers, and the frozen texts that are judged."""

from __future__ import annotations

from django.db import models

from annotation.models.people import Membership, Project


class System(models.Model):
    """A language model with its prompt strategy, or any other source of answers."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=120)
    prompt_strategy = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "prompt_strategy"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name", "prompt_strategy"], name="system_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.prompt_strategy}" if self.prompt_strategy else self.name


class ChatContent(models.Model):
    """A conversation (``annotation.chats.model``) that items and candidates show; never changed."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="chats")
    digest = models.CharField(max_length=64)
    document = models.JSONField()
    turns = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "digest"], name="chat_once_a_project")
        ]


class Candidate(models.Model):
    """A frozen text under judgment. Its text never changes (a trigger); pairs refer to it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="candidates")
    key = models.CharField(max_length=120)
    topic = models.CharField(max_length=80)
    query = models.TextField(blank=True)
    text = models.TextField()
    # The conversation that is judged; the text is then the same as plain text.
    chat = models.ForeignKey(
        ChatContent, on_delete=models.PROTECT, null=True, blank=True, related_name="candidates"
    )
    style = models.CharField(max_length=60, blank=True)
    origin = models.CharField(max_length=60, blank=True)
    # Whose text it is in rankings; people of one origin and style are one source.
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="candidates")
    # Where it comes from an answer: that answer, and who wrote it (they never judge it).
    source_answer = models.ForeignKey(
        "annotation.Answer", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    author = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="candidates"
    )
    words = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["topic", "key"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="candidate_key_once"),
        ]
        indexes = [models.Index(fields=["project", "topic"])]

    def __str__(self) -> str:
        return self.key
