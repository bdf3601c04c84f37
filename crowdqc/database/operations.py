"""Operations of migrations that Django lacks."""

from __future__ import annotations

from django.db.migrations.operations.special import SeparateDatabaseAndState
from django.db.migrations.state import ProjectState


class SeparateDatabaseAndManyFields(SeparateDatabaseAndState):
    """``SeparateDatabaseAndState`` whose state changes build the models once, not once a field.

    Where its models are built, each ``AlterField`` builds a model and all that are related to it
    again. Without them it changes the state alone; the next operation builds what it needs.
    """

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)
