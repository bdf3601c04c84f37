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
        AND OLD.media_id IS NOT DISTINCT FROM NEW.media_id
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
        OR OLD.media_id IS DISTINCT FROM NEW.media_id
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

# What is known of backups (crowdqc.deployment.backup.records); no backup holds it.
BACKUPS = """
CREATE TABLE crowdqc_backup (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL,
    name text NOT NULL DEFAULT '', size bigint NOT NULL DEFAULT 0, rows bigint NOT NULL DEFAULT 0,
    seconds double precision NOT NULL DEFAULT 0, encrypted boolean NOT NULL DEFAULT false,
    tested boolean NOT NULL DEFAULT false, error text NOT NULL DEFAULT '');
"""

# Files that lie in the database (crowdqc.files.storages).
FILE_PIECES = """
CREATE TABLE crowdqc_file_piece (
    name text NOT NULL, number integer NOT NULL, data bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (name, number));
ALTER TABLE crowdqc_file_piece ALTER COLUMN data SET STORAGE EXTERNAL;
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

# Votes on pairs by system (JudgmentCount): every write of answers and of their values comes by here.
COUNTS = """
CREATE VIEW crowdqc_pair_answer AS
    SELECT answer.id AS answer_id, answer.item_id, answer.version_id,
        answer.worker_id IS NOT NULL AS people, answer.flipped,
        one.system_id AS first_id, two.system_id AS second_id,
        answer.counts, item.expected IS NULL AS asked
    FROM annotation_answer AS answer
    JOIN annotation_item AS item ON item.id = answer.item_id
    JOIN annotation_candidate AS one ON one.id = item.first_id
    JOIN annotation_candidate AS two ON two.id = item.second_id
    WHERE answer.stage = 'main' AND NOT item.repeat;

CREATE TYPE crowdqc_count AS (
    version_id bigint, field varchar, code varchar, people boolean, flipped boolean,
    first_id bigint, second_id bigint, n bigint);

-- Adds to a row that nobody else holds, else to a new one: nobody waits, and nothing locks up.
CREATE FUNCTION crowdqc_add_counts(given crowdqc_count[]) RETURNS void LANGUAGE sql AS $$
    WITH held AS (
        SELECT delta.*, free.id
        FROM unnest(given) AS delta LEFT JOIN LATERAL (
            SELECT count.id FROM annotation_judgmentcount AS count
            WHERE count.version_id = delta.version_id AND count.field = delta.field
                AND count.first_id = delta.first_id AND count.second_id = delta.second_id
                AND count.code = delta.code AND count.people = delta.people
                AND count.flipped = delta.flipped
            LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS free ON true
    ), added AS (
        UPDATE annotation_judgmentcount AS count SET n = count.n + held.n
        FROM held WHERE count.id = held.id
    )
    INSERT INTO annotation_judgmentcount
        (version_id, field, code, people, flipped, first_id, second_id, n)
    SELECT version_id, field, code, people, flipped, first_id, second_id, n
    FROM held WHERE id IS NULL
$$;

CREATE FUNCTION crowdqc_values_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    given crowdqc_count[];
BEGIN
    IF TG_OP <> 'INSERT' THEN
        SELECT array_agg(one::crowdqc_count) INTO given FROM (
            SELECT version_id, field, code, people, flipped, first_id, second_id, -count(*)
            FROM before_it JOIN crowdqc_pair_answer USING (answer_id)
            WHERE counts AND asked AND code IN ('first', 'neutral', 'second')
            GROUP BY 1, 2, 3, 4, 5, 6, 7) AS one;
        PERFORM crowdqc_add_counts(given);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        SELECT array_agg(one::crowdqc_count) INTO given FROM (
            SELECT version_id, field, code, people, flipped, first_id, second_id, count(*)
            FROM after_it JOIN crowdqc_pair_answer USING (answer_id)
            WHERE counts AND asked AND code IN ('first', 'neutral', 'second')
            GROUP BY 1, 2, 3, 4, 5, 6, 7) AS one;
        PERFORM crowdqc_add_counts(given);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION crowdqc_answers_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    given crowdqc_count[];
BEGIN
    SELECT array_agg(one::crowdqc_count) INTO given FROM (
        SELECT pair.version_id, field, code, people, pair.flipped, first_id, second_id,
            sum(CASE WHEN pair.counts THEN 1 ELSE -1 END)
        FROM before_it JOIN crowdqc_pair_answer AS pair ON pair.answer_id = before_it.id
        JOIN annotation_choicevalue AS vote ON vote.answer_id = pair.answer_id
        WHERE before_it.counts <> pair.counts AND asked
            AND code IN ('first', 'neutral', 'second')
        GROUP BY 1, 2, 3, 4, 5, 6, 7) AS one;
    PERFORM crowdqc_add_counts(given);
    RETURN NULL;
END $$;

CREATE FUNCTION crowdqc_known_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    given crowdqc_count[];
BEGIN
    SELECT array_agg(one::crowdqc_count) INTO given FROM (
        SELECT version_id, field, code, people, flipped, first_id, second_id,
            sum(CASE WHEN asked THEN 1 ELSE -1 END)
        FROM crowdqc_pair_answer JOIN annotation_choicevalue USING (answer_id)
        WHERE item_id = NEW.id AND counts AND code IN ('first', 'neutral', 'second')
        GROUP BY 1, 2, 3, 4, 5, 6, 7) AS one;
    PERFORM crowdqc_add_counts(given);
    RETURN NULL;
END $$;

CREATE TRIGGER crowdqc_values_come AFTER INSERT ON annotation_choicevalue
    REFERENCING NEW TABLE AS after_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_values_counted();
CREATE TRIGGER crowdqc_values_change AFTER UPDATE ON annotation_choicevalue
    REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_values_counted();
CREATE TRIGGER crowdqc_values_go AFTER DELETE ON annotation_choicevalue
    REFERENCING OLD TABLE AS before_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_values_counted();
CREATE TRIGGER crowdqc_answers_change AFTER UPDATE ON annotation_answer
    REFERENCING OLD TABLE AS before_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_answers_counted();
CREATE TRIGGER crowdqc_known_change AFTER UPDATE OF expected ON annotation_item
    FOR EACH ROW WHEN ((OLD.expected IS NULL) <> (NEW.expected IS NULL)
        AND NEW.second_id IS NOT NULL)
    EXECUTE FUNCTION crowdqc_known_counted();
"""
COUNTS_UNDO = """
DROP TRIGGER crowdqc_known_change ON annotation_item;
DROP TRIGGER crowdqc_answers_change ON annotation_answer;
DROP TRIGGER crowdqc_values_go ON annotation_choicevalue;
DROP TRIGGER crowdqc_values_change ON annotation_choicevalue;
DROP TRIGGER crowdqc_values_come ON annotation_choicevalue;
DROP FUNCTION crowdqc_known_counted();
DROP FUNCTION crowdqc_answers_counted();
DROP FUNCTION crowdqc_values_counted();
DROP FUNCTION crowdqc_add_counts(crowdqc_count[]);
DROP TYPE crowdqc_count;
DROP VIEW crowdqc_pair_answer;
"""

# Answers that count by worker (AnswerCount): every write of answers comes by here.
TALLIED = """
CREATE TYPE crowdqc_tally AS (
    version_id bigint, worker_id bigint, known boolean, n bigint, digest numeric);

-- As crowdqc_add_counts.
CREATE FUNCTION crowdqc_add_tallies(given crowdqc_tally[]) RETURNS void LANGUAGE sql AS $$
    WITH held AS (
        SELECT delta.*, free.id
        FROM unnest(given) AS delta LEFT JOIN LATERAL (
            SELECT count.id FROM annotation_answercount AS count
            WHERE count.version_id = delta.version_id AND count.known = delta.known
                AND (count.worker_id = delta.worker_id
                    OR count.worker_id IS NULL AND delta.worker_id IS NULL)
            LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS free ON true
    ), added AS (
        UPDATE annotation_answercount AS count
        SET n = count.n + held.n, digest = count.digest + held.digest
        FROM held WHERE count.id = held.id
    )
    INSERT INTO annotation_answercount (version_id, worker_id, known, n, digest)
    SELECT version_id, worker_id, known, n, digest FROM held WHERE id IS NULL
$$;

CREATE FUNCTION crowdqc_answers_tallied() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    given crowdqc_tally[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(one::crowdqc_tally) INTO given FROM (
            SELECT answer.version_id, answer.worker_id, item.expected IS NOT NULL,
                count(*), sum(hashint8extended(answer.id, 0))
            FROM after_it AS answer JOIN annotation_item AS item ON item.id = answer.item_id
            WHERE answer.counts AND answer.stage = 'main'
            GROUP BY 1, 2, 3) AS one;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(one::crowdqc_tally) INTO given FROM (
            SELECT answer.version_id, answer.worker_id, item.expected IS NOT NULL,
                -count(*), -sum(hashint8extended(answer.id, 0))
            FROM before_it AS answer JOIN annotation_item AS item ON item.id = answer.item_id
            WHERE answer.counts AND answer.stage = 'main'
            GROUP BY 1, 2, 3) AS one;
    ELSE
        SELECT array_agg(one::crowdqc_tally) INTO given FROM (
            SELECT answer.version_id, answer.worker_id, item.expected IS NOT NULL,
                sum(answer.sign), sum(answer.sign * hashint8extended(answer.id, 0)::numeric)
            FROM (
                SELECT -1 AS sign, * FROM before_it UNION ALL SELECT 1, * FROM after_it
            ) AS answer JOIN annotation_item AS item ON item.id = answer.item_id
            WHERE answer.counts AND answer.stage = 'main'
            GROUP BY 1, 2, 3
            HAVING sum(answer.sign) <> 0
                OR sum(answer.sign * hashint8extended(answer.id, 0)::numeric) <> 0) AS one;
    END IF;
    IF given IS NOT NULL THEN
        PERFORM crowdqc_add_tallies(given);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION crowdqc_known_tallied() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    given crowdqc_tally[];
BEGIN
    SELECT array_agg(one::crowdqc_tally) INTO given FROM (
        SELECT version_id, worker_id, side.known, side.sign * count(*),
            side.sign * sum(hashint8extended(id, 0))
        FROM annotation_answer CROSS JOIN (
            VALUES (OLD.expected IS NOT NULL, -1), (NEW.expected IS NOT NULL, 1)
        ) AS side (known, sign)
        WHERE item_id = NEW.id AND counts AND stage = 'main'
        GROUP BY version_id, worker_id, side.known, side.sign) AS one;
    IF given IS NOT NULL THEN
        PERFORM crowdqc_add_tallies(given);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER crowdqc_tally_come AFTER INSERT ON annotation_answer
    REFERENCING NEW TABLE AS after_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_answers_tallied();
CREATE TRIGGER crowdqc_tally_change AFTER UPDATE ON annotation_answer
    REFERENCING OLD TABLE AS before_it NEW TABLE AS after_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_answers_tallied();
CREATE TRIGGER crowdqc_tally_go AFTER DELETE ON annotation_answer
    REFERENCING OLD TABLE AS before_it
    FOR EACH STATEMENT EXECUTE FUNCTION crowdqc_answers_tallied();
CREATE TRIGGER crowdqc_known_tally AFTER UPDATE OF expected ON annotation_item
    FOR EACH ROW WHEN ((OLD.expected IS NULL) <> (NEW.expected IS NULL))
    EXECUTE FUNCTION crowdqc_known_tallied();
"""
TALLIED_UNDO = """
DROP TRIGGER crowdqc_known_tally ON annotation_item;
DROP TRIGGER crowdqc_tally_go ON annotation_answer;
DROP TRIGGER crowdqc_tally_change ON annotation_answer;
DROP TRIGGER crowdqc_tally_come ON annotation_answer;
DROP FUNCTION crowdqc_known_tallied();
DROP FUNCTION crowdqc_answers_tallied();
DROP FUNCTION crowdqc_add_tallies(crowdqc_tally[]);
DROP TYPE crowdqc_tally;
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
        migrations.RunSQL(BACKUPS, "DROP TABLE crowdqc_backup;"),
        migrations.RunSQL(FILE_PIECES, "DROP TABLE crowdqc_file_piece;"),
        *(_append_only(table) for table in APPEND_ONLY),
        migrations.RunSQL(SECURITY, SECURITY_UNDO),
        migrations.RunSQL(TALLIES, TALLIES_UNDO),
        migrations.RunSQL(COUNTS, COUNTS_UNDO),
        migrations.RunSQL(TALLIED, TALLIED_UNDO),
    ]
