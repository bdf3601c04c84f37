"""Create the initial tables in a fifth of the time."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.migrations.state import ProjectState

ADDITIONS = (migrations.AddField, migrations.AddConstraint, migrations.AddIndex)


class FirstTables(migrations.Migration):
    """A migration that only creates tables and alters the tables it created.

    Django renders every related model anew after each operation, which for some 200 operations on
    80 tables takes most of a first start. Here the models are rendered once, as they are at the
    end, and each table is made whole. The order of tables does not matter: their foreign keys are
    added when all are there.
    """

    def apply(
        self, project_state: ProjectState, schema_editor: Any, collect_sql: bool = False
    ) -> ProjectState:
        """Create the tables; Django handles other operations and requests for SQL."""
        made = [one for one in self.operations if isinstance(one, migrations.CreateModel)]
        names = {one.name_lower for one in made}
        whole = all(
            isinstance(one, ADDITIONS) and one.model_name_lower in names
            for one in self.operations
            if one not in made
        )
        if collect_sql or not whole:
            return super().apply(project_state, schema_editor, collect_sql)
        project_state.__dict__.pop("apps", None)  # with them, each operation would render
        for operation in self.operations:
            operation.state_forwards(self.app_label, project_state)
        for operation in made:
            model = project_state.apps.get_model(self.app_label, operation.name)
            if operation.allow_migrate_model(schema_editor.connection.alias, model):
                schema_editor.create_model(model)
        return project_state
