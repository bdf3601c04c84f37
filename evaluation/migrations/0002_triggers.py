"""Invariants the database itself keeps: frozen checklists, and what a call was and said."""

from django.db import migrations

FUNCTIONS = """
CREATE FUNCTION crowdqc_checklist_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure of a person takes their words out of what the questions were made from.
    IF current_setting('crowdqc.erasing', true) = 'on' AND NEW.number = OLD.number
        AND NEW.made_of = OLD.made_of AND NEW.content_hash = OLD.content_hash THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'version % of checklist % is frozen', OLD.number, OLD.checklist_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER crowdqc_checklist_frozen BEFORE UPDATE ON evaluation_checklistversion
    FOR EACH ROW WHEN (
        OLD.questions IS DISTINCT FROM NEW.questions OR OLD.number IS DISTINCT FROM NEW.number
        OR OLD.made_of IS DISTINCT FROM NEW.made_of
        OR OLD.content_hash IS DISTINCT FROM NEW.content_hash)
    EXECUTE FUNCTION crowdqc_checklist_frozen();

CREATE FUNCTION crowdqc_attempt_settled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('crowdqc.erasing', true) = 'on' AND NEW.ended_at = OLD.ended_at
        AND NEW.outcome = OLD.outcome AND NEW.cost IS NOT DISTINCT FROM OLD.cost THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'attempt % of call % is settled', OLD.number, OLD.call_id
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER crowdqc_attempt_settled BEFORE UPDATE ON evaluation_llmattempt
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL)
    EXECUTE FUNCTION crowdqc_attempt_settled();

ALTER TABLE evaluation_runfigure ADD CONSTRAINT votes_add_up
    CHECK (name <> 'votes' OR crowdqc_adds_up(data));
"""
UNDO = """
ALTER TABLE evaluation_runfigure DROP CONSTRAINT votes_add_up;
DROP TRIGGER crowdqc_checklist_frozen ON evaluation_checklistversion;
DROP TRIGGER crowdqc_attempt_settled ON evaluation_llmattempt;
DROP FUNCTION crowdqc_checklist_frozen();
DROP FUNCTION crowdqc_attempt_settled();
"""


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0001_initial"), ("annotation", "0002_triggers")]

    operations = [migrations.RunSQL(FUNCTIONS, UNDO)]
