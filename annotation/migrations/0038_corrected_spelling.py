"""The spelling of a question that was answered may be corrected, and nothing else of it."""

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION crowdqc_answered_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure takes a person's words out of a question that quotes them, and changes nothing else.
    IF current_setting('crowdqc.erasing', true) = 'on' AND OLD.key = NEW.key
        AND OLD.group_id = NEW.group_id AND OLD.first_id IS NOT DISTINCT FROM NEW.first_id
        AND OLD.second_id IS NOT DISTINCT FROM NEW.second_id AND OLD.side = NEW.side
        AND OLD.media_id IS NOT DISTINCT FROM NEW.media_id
        AND OLD.repeat = NEW.repeat THEN
        RETURN NEW;
    END IF;{respelled}
    IF EXISTS (SELECT 1 FROM annotation_assignmentitem WHERE item_id = OLD.id)
        OR EXISTS (SELECT 1 FROM annotation_answer WHERE item_id = OLD.id) THEN
        RAISE EXCEPTION 'question % is in use', OLD.key
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
"""
RESPELLED = """
    -- A new version that only corrects the spelling keeps the question with its answers.
    IF current_setting('crowdqc.respelling', true) = 'on'
        AND to_jsonb(NEW) - '{question,until,position,priority}'::text[]
            = to_jsonb(OLD) - '{question,until,position,priority}'::text[] THEN
        RETURN NEW;
    END IF;"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0037_rejection_effects")]

    operations = [
        migrations.RunSQL(
            FUNCTION.replace("{respelled}", RESPELLED), FUNCTION.replace("{respelled}", "")
        ),
    ]
