"""When a project was deleted, and that its published versions keep nothing but title and pay."""

from django.db import migrations, models

FUNCTION = """
CREATE OR REPLACE FUNCTION crowdqc_published_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure takes a person's words out of what a checklist's questions were made from.
    IF current_setting('crowdqc.erasing', true) = 'on' AND NEW.number = OLD.number
        AND NEW.task_id = OLD.task_id AND NEW.published_at = OLD.published_at
        AND NEW.pay = OLD.pay AND NEW.title = OLD.title
        AND NEW.instructions = OLD.instructions AND NEW.redundancy = OLD.redundancy THEN
        RETURN NEW;
    END IF;{deleted}
    RAISE EXCEPTION 'version % of task % is published', OLD.number, OLD.task_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
DELETED = """
    -- Of a deleted project the books name title and pay.
    IF current_setting('crowdqc.erasing', true) = 'on' AND NEW.instructions = ''
        AND NEW.settings = '{}'::jsonb AND NEW.bonus_note = ''
        AND to_jsonb(NEW) - '{instructions,settings,bonus_note,updated_at}'::text[]
            = to_jsonb(OLD) - '{instructions,settings,bonus_note,updated_at}'::text[]
        AND EXISTS (
            SELECT 1 FROM annotation_task AS task
            JOIN annotation_project AS project ON project.id = task.project_id
            WHERE task.id = NEW.task_id AND project.deleted_at IS NOT NULL) THEN
        RETURN NEW;
    END IF;"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0034_retention")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="deleted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunSQL(
            FUNCTION.replace("{deleted}", DELETED), FUNCTION.replace("{deleted}", "")
        ),
    ]
