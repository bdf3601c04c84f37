import django.db.models.deletion
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from crowdqc.database.operations import SeparateDatabaseAndManyFields

# Each is the beginning of another index of its table, which serves the same questions: an answer's
# row stood in ten indexes, now in six. Concurrently, so that nobody waits.
INDEXES = (
    ("annotation_answer_assignment_id_1caa52e3", "annotation_answer", "assignment_id"),
    ("annotation_answer_item_id_3d77123a", "annotation_answer", "item_id"),
    ("annotation_answer_system_id_9a679845", "annotation_answer", "system_id"),
    ("annotation_answercount_version_id_0b52a9a6", "annotation_answercount", "version_id"),
    ("annotation_assignment_task_id_10ae8b7e", "annotation_assignment", "task_id"),
    ("annotation_assignment_worker_id_02527eeb", "annotation_assignment", "worker_id"),
    (
        "annotation_assignmentitem_assignment_id_0ee45b8f",
        "annotation_assignmentitem",
        "assignment_id",
    ),
    ("annotation_auditentry_project_id_4c3ad5a6", "annotation_auditentry", "project_id"),
    ("annotation_choicevalue_answer_id_6c21aca7", "annotation_choicevalue", "answer_id"),
    ("annotation_judgmentcount_version_id_dd93e0cf", "annotation_judgmentcount", "version_id"),
    ("annotation_spanvalue_answer_id_ed149721", "annotation_spanvalue", "answer_id"),
    ("annotation_textvalue_answer_id_d6f65a1c", "annotation_textvalue", "answer_id"),
)


def dropping(index: str, table: str, column: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"DROP INDEX CONCURRENTLY IF EXISTS {index}",
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON {table} ({column})",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("annotation", "0009_counts_by_answer"),
    ]

    operations = [
        RemoveIndexConcurrently(model_name="answer", name="annotation__worker__6b0b2c_idx"),
        SeparateDatabaseAndManyFields(
            database_operations=[dropping(*one) for one in INDEXES],
            state_operations=[
                migrations.AlterField(
                    model_name="answer",
                    name="assignment",
                    field=models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="annotation.assignment",
                    ),
                ),
                migrations.AlterField(
                    model_name="answer",
                    name="item",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="annotation.item",
                    ),
                ),
                migrations.AlterField(
                    model_name="answer",
                    name="system",
                    field=models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="annotation.system",
                    ),
                ),
                migrations.AlterField(
                    model_name="answercount",
                    name="version",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.taskversion",
                    ),
                ),
                migrations.AlterField(
                    model_name="assignment",
                    name="task",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="annotation.task",
                    ),
                ),
                migrations.AlterField(
                    model_name="assignment",
                    name="worker",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="annotation.membership",
                    ),
                ),
                migrations.AlterField(
                    model_name="assignmentitem",
                    name="assignment",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="annotation.assignment",
                    ),
                ),
                migrations.AlterField(
                    model_name="auditentry",
                    name="project",
                    field=models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="audit_entries",
                        to="annotation.project",
                    ),
                ),
                migrations.AlterField(
                    model_name="choicevalue",
                    name="answer",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="choices",
                        to="annotation.answer",
                    ),
                ),
                migrations.AlterField(
                    model_name="judgmentcount",
                    name="version",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.taskversion",
                    ),
                ),
                migrations.AlterField(
                    model_name="spanvalue",
                    name="answer",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="spans",
                        to="annotation.answer",
                    ),
                ),
                migrations.AlterField(
                    model_name="textvalue",
                    name="answer",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="texts",
                        to="annotation.answer",
                    ),
                ),
            ],
        ),
    ]
