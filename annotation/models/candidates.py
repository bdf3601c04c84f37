"""Sources of answers that are not people."""

from __future__ import annotations

from django.db import models

from .people import Project


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
