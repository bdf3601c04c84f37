"""Invariants the database itself keeps: append-only rows, immutable versions and questions."""

from django.db import migrations

APPEND_ONLY = ("annotation_auditentry", "annotation_ledgerentry", "annotation_eventbatch")

# Of these a log alone may be deleted, by the erasing switch.
EVENTS = "annotation_eventbatch"

FUNCTIONS = """
CREATE FUNCTION crowdqc_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure of a person's log is the one exception; it sets this for its own transaction.
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'annotation_eventbatch'
        AND current_setting('crowdqc.erasing', true) = 'on' THEN
        RETURN OLD;
    END IF;
    -- Tests empty their own databases between one another; no other process sets this.
    IF TG_OP = 'TRUNCATE' AND current_setting('crowdqc.may_truncate', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION crowdqc_published_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure takes a person's words out of what a checklist's questions were made from.
    IF current_setting('crowdqc.erasing', true) = 'on' AND NEW.number = OLD.number
        AND NEW.task_id = OLD.task_id AND NEW.published_at = OLD.published_at
        AND NEW.pay = OLD.pay AND NEW.title = OLD.title
        AND NEW.instructions = OLD.instructions AND NEW.redundancy = OLD.redundancy THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'version % of task % is published', OLD.number, OLD.task_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION crowdqc_answered_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure takes a person's words out of a question that quotes them, and changes nothing else.
    IF current_setting('crowdqc.erasing', true) = 'on' AND OLD.key = NEW.key
        AND OLD.group_id = NEW.group_id AND OLD.first_id IS NOT DISTINCT FROM NEW.first_id
        AND OLD.second_id IS NOT DISTINCT FROM NEW.second_id AND OLD.side = NEW.side
        AND OLD.repeat = NEW.repeat THEN
        RETURN NEW;
    END IF;
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
    -- Erasure of its writer blanks a text; nothing puts another one in its place.
    IF current_setting('crowdqc.erasing', true) = 'on' AND NEW.text = ''
        AND NEW.topic = OLD.topic AND NEW.system_id = OLD.system_id THEN
        RETURN NEW;
    END IF;
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

CREATE FUNCTION crowdqc_try_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure takes a person's name out of the address that was asked, and changes nothing else.
    IF TG_OP = 'UPDATE' AND current_setting('crowdqc.erasing', true) = 'on'
        AND NEW.payment_id = OLD.payment_id AND NEW.ended_at = OLD.ended_at
        AND NEW.status IS NOT DISTINCT FROM OLD.status THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'request % of payment % has ended', OLD.id, OLD.payment_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER crowdqc_try_ended BEFORE UPDATE OR DELETE ON annotation_paymentattempt
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL)
    EXECUTE FUNCTION crowdqc_try_ended();
"""

# As the framework's database cache wants it.
CACHE = """
CREATE TABLE crowdqc_cache (
    cache_key varchar(255) PRIMARY KEY, value text NOT NULL, expires timestamptz NOT NULL);
CREATE INDEX crowdqc_cache_expires ON crowdqc_cache (expires);
"""

# The security log is added to. Failures of one hour are counted up in their row; the sweep deletes
# what is older than the days kept; erasure takes a person off their rows.
SECURITY = """
CREATE FUNCTION crowdqc_security_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (current_setting('crowdqc.sweeping', true) = 'on'
        OR current_setting('crowdqc.erasing', true) = 'on') THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.bucket = OLD.bucket AND NEW.count > OLD.count
        AND to_jsonb(NEW) - 'count' = to_jsonb(OLD) - 'count' THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND current_setting('crowdqc.erasing', true) = 'on'
        AND NEW.address = '' AND NEW.agent = ''
        AND to_jsonb(NEW) - '{address,agent}'::text[] = to_jsonb(OLD) - '{address,agent}'::text[]
        THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'TRUNCATE' AND current_setting('crowdqc.may_truncate', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER crowdqc_security_log BEFORE UPDATE OR DELETE ON annotation_securityevent
    FOR EACH ROW EXECUTE FUNCTION crowdqc_security_log();
CREATE TRIGGER crowdqc_never_emptied BEFORE TRUNCATE ON annotation_securityevent
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_security_log();
REVOKE UPDATE, DELETE, TRUNCATE ON annotation_securityevent FROM PUBLIC;
REVOKE UPDATE, TRUNCATE ON annotation_securityevent FROM CURRENT_USER;
GRANT UPDATE (id, count, address, agent) ON annotation_securityevent TO CURRENT_USER;
"""
SECURITY_UNDO = """
DROP TRIGGER crowdqc_security_log ON annotation_securityevent;
DROP TRIGGER crowdqc_never_emptied ON annotation_securityevent;
DROP FUNCTION crowdqc_security_log();
GRANT ALL ON annotation_securityevent TO CURRENT_USER;
"""

# How often somebody tried something (crowdqc.limits). Unlogged: a crash of the server may forget.
LIMITS = """
CREATE UNLOGGED TABLE crowdqc_limit (
    key varchar(80) PRIMARY KEY, tries integer NOT NULL, ends timestamptz NOT NULL);
CREATE INDEX crowdqc_limit_ends ON crowdqc_limit (ends);
"""

# came = used + what is left out by reason (crowdqc.tally), for a whole and for each of its boards.
TALLIES = """
CREATE FUNCTION crowdqc_adds_up(tally jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT bool_and(coalesce(
        one->'came' = tally->'came' AND (one->>'used')::bigint >= 0
        AND jsonb_typeof(one->'left_out') = 'object'
        AND (SELECT coalesce(min(value::bigint), 1) FROM jsonb_each_text(one->'left_out')) > 0
        AND (one->>'came')::bigint = (one->>'used')::bigint
            + (SELECT coalesce(sum(value::bigint), 0) FROM jsonb_each_text(one->'left_out')),
        false))
    FROM jsonb_array_elements(
        jsonb_build_array(tally) || coalesce(tally->'boards', '[]'::jsonb)) AS one
$$;
ALTER TABLE annotation_importfile ADD CONSTRAINT import_adds_up
    CHECK (state <> 'imported' OR crowdqc_adds_up(report));
"""
TALLIES_UNDO = """
ALTER TABLE annotation_importfile DROP CONSTRAINT import_adds_up;
DROP FUNCTION crowdqc_adds_up(jsonb);
"""

UNDO = """
DROP TRIGGER crowdqc_try_ended ON annotation_paymentattempt;
DROP FUNCTION crowdqc_try_ended();
DROP TRIGGER crowdqc_published_immutable ON annotation_taskversion;
DROP TRIGGER crowdqc_answered_immutable ON annotation_item;
DROP TRIGGER crowdqc_candidate_immutable ON annotation_candidate;
DROP FUNCTION crowdqc_candidate_immutable();
DROP FUNCTION crowdqc_answered_immutable();
DROP FUNCTION crowdqc_published_immutable();
DROP FUNCTION crowdqc_append_only();
"""


def _append_only(table: str) -> migrations.RunSQL:
    """Refuse changes to everybody by triggers, and to the role that owns the table by privilege.

    Deleting what a row refers to locks such rows, for which the owner needs UPDATE on one column;
    it has it on ``id``, which the trigger refuses to change like all others.
    """
    taken = "UPDATE, TRUNCATE" if table == EVENTS else "UPDATE, DELETE, TRUNCATE"
    return migrations.RunSQL(
        f"CREATE TRIGGER crowdqc_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION crowdqc_append_only();"
        f"CREATE TRIGGER crowdqc_never_emptied BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_append_only();"
        f"REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM PUBLIC;"
        f"REVOKE {taken} ON {table} FROM CURRENT_USER;"
        f"GRANT UPDATE (id) ON {table} TO CURRENT_USER;",
        f"DROP TRIGGER crowdqc_append_only ON {table};"
        f"DROP TRIGGER crowdqc_never_emptied ON {table};"
        f"GRANT ALL ON {table} TO CURRENT_USER;",
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTIONS, UNDO),
        migrations.RunSQL(CACHE, "DROP TABLE crowdqc_cache;"),
        migrations.RunSQL(LIMITS, "DROP TABLE crowdqc_limit;"),
        *(_append_only(table) for table in APPEND_ONLY),
        migrations.RunSQL(SECURITY, SECURITY_UNDO),
        migrations.RunSQL(TALLIES, TALLIES_UNDO),
    ]
