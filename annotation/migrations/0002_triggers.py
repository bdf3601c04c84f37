"""Invariants the database itself keeps: append-only rows, immutable versions and questions."""

from django.db import migrations

APPEND_ONLY = ("annotation_auditentry", "annotation_ledgerentry", "annotation_eventbatch")

FUNCTIONS = """
CREATE FUNCTION crowdqc_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure of a person's log is the one exception; it sets this for its own transaction.
    IF TG_OP = 'DELETE' AND current_setting('crowdqc.erasing', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION crowdqc_published_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'version % of task % is published', OLD.number, OLD.task_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION crowdqc_answered_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM annotation_assignmentitem WHERE item_id = OLD.id)
        OR EXISTS (SELECT 1 FROM annotation_answer WHERE item_id = OLD.id) THEN
        RAISE EXCEPTION 'question % is in use', OLD.key
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER crowdqc_published_immutable BEFORE UPDATE ON annotation_taskversion
    FOR EACH ROW WHEN (OLD.published_at IS NOT NULL)
    EXECUTE FUNCTION crowdqc_published_immutable();

CREATE TRIGGER crowdqc_answered_immutable BEFORE UPDATE ON annotation_item
    FOR EACH ROW WHEN (
        OLD.question IS DISTINCT FROM NEW.question OR OLD.key IS DISTINCT FROM NEW.key
        OR OLD.group_id IS DISTINCT FROM NEW.group_id
        OR OLD.settings IS DISTINCT FROM NEW.settings
        OR OLD.first_id IS DISTINCT FROM NEW.first_id
        OR OLD.second_id IS DISTINCT FROM NEW.second_id
        OR OLD.side IS DISTINCT FROM NEW.side OR OLD.repeat IS DISTINCT FROM NEW.repeat)
    EXECUTE FUNCTION crowdqc_answered_immutable();

CREATE FUNCTION crowdqc_candidate_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM annotation_item WHERE OLD.id IN (first_id, second_id)) THEN
        RAISE EXCEPTION 'text % is part of a pair', OLD.key
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER crowdqc_candidate_immutable BEFORE UPDATE ON annotation_candidate
    FOR EACH ROW WHEN (
        OLD.text IS DISTINCT FROM NEW.text OR OLD.topic IS DISTINCT FROM NEW.topic
        OR OLD.system_id IS DISTINCT FROM NEW.system_id)
    EXECUTE FUNCTION crowdqc_candidate_immutable();
"""

# As the framework's database cache wants it.
CACHE = """
CREATE TABLE crowdqc_cache (
    cache_key varchar(255) PRIMARY KEY, value text NOT NULL, expires timestamptz NOT NULL);
CREATE INDEX crowdqc_cache_expires ON crowdqc_cache (expires);
"""

UNDO = """
DROP TRIGGER crowdqc_published_immutable ON annotation_taskversion;
DROP TRIGGER crowdqc_answered_immutable ON annotation_item;
DROP TRIGGER crowdqc_candidate_immutable ON annotation_candidate;
DROP FUNCTION crowdqc_candidate_immutable();
DROP FUNCTION crowdqc_answered_immutable();
DROP FUNCTION crowdqc_published_immutable();
DROP FUNCTION crowdqc_append_only();
"""


def _append_only(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"CREATE TRIGGER crowdqc_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION crowdqc_append_only();",
        f"DROP TRIGGER crowdqc_append_only ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTIONS, UNDO),
        migrations.RunSQL(CACHE, "DROP TABLE crowdqc_cache;"),
        *(_append_only(table) for table in APPEND_ONLY),
    ]
