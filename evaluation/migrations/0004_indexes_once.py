import django.db.models.deletion
from django.db import migrations, models

from crowdqc.database.operations import SeparateDatabaseAndManyFields

# Each is the beginning of another index of its table, which serves the same questions: an answer's
# row stood in ten indexes, now in six. Concurrently, so that nobody waits.
INDEXES = (
    ("evaluation_answerscore_run_id_da21e3a2", "evaluation_answerscore", "run_id"),
    ("evaluation_candidatescore_run_id_aaa8f13a", "evaluation_candidatescore", "run_id"),
    ("evaluation_grade_grading_id_db39ca76", "evaluation_grade", "grading_id"),
    ("evaluation_itemlabel_run_id_2601d4ef", "evaluation_itemlabel", "run_id"),
    ("evaluation_itemscore_run_id_a481b833", "evaluation_itemscore", "run_id"),
    ("evaluation_llmattempt_call_id_987f55ae", "evaluation_llmattempt", "call_id"),
    ("evaluation_llmcall_project_id_d8bca7be", "evaluation_llmcall", "project_id"),
    ("evaluation_systemscore_run_id_db736a11", "evaluation_systemscore", "run_id"),
    ("evaluation_workerscore_run_id_e35a1dd1", "evaluation_workerscore", "run_id"),
)


def dropping(index: str, table: str, column: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON {table} ({column})",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("evaluation", "0003_label_decisions"),
    ]

    operations = [
        SeparateDatabaseAndManyFields(
            database_operations=[dropping(*one) for one in INDEXES],
            state_operations=[
                migrations.AlterField(
                    model_name="answerscore",
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s_rows",
                        to="evaluation.run",
                    ),
                ),
                migrations.AlterField(
                    model_name="candidatescore",
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s_rows",
                        to="evaluation.run",
                    ),
                ),
                migrations.AlterField(
                    model_name="grade",
                    name="grading",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grades",
                        to="evaluation.grading",
                    ),
                ),
                migrations.AlterField(
                    model_name="itemlabel",
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="labels",
                        to="evaluation.run",
                    ),
                ),
                migrations.AlterField(
                    model_name="itemscore",
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s_rows",
                        to="evaluation.run",
                    ),
                ),
                migrations.AlterField(
                    model_name="llmattempt",
                    name="call",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tries",
                        to="evaluation.llmcall",
                    ),
                ),
                migrations.AlterField(
                    model_name="llmcall",
                    name="project",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="llm_calls",
                        to="annotation.project",
                    ),
                ),
                migrations.AlterField(
                    model_name="systemscore",
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s_rows",
                        to="evaluation.run",
                    ),
                ),
                migrations.AlterField(
                    model_name="workerscore",
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s_rows",
                        to="evaluation.run",
                    ),
                ),
            ],
        ),
    ]
