"""How long rows are kept, and the one way by which old entries leave the audit log."""

from django.db import migrations, models

# Copies of annotation.records.actions.audit, which a test compares.
EVERYDAY = (
    "account.language",
    "account.theme",
    "adaptive.simulate",
    "answers.erase",
    "assignment.claim",
    "assignment.extend",
    "assignment.return",
    "assignment.submit",
    "audit.verdict",
    "candidates.add",
    "checklist.stage",
    "export.remove",
    "export.request",
    "export.retry",
    "failure.discard",
    "failure.retry",
    "grading.mark",
    "hook.ping",
    "hook.redeliver",
    "item.priority",
    "items.priority",
    "items.wanted",
    "live.outputs",
    "log.erase",
    "mail.daily",
    "mail.off",
    "mail.on",
    "media.add",
    "media.delete",
    "media.fetch",
    "message.send",
    "model.probe",
    "notices.mute",
    "pairs.make",
    "panel.note",
    "quiz.begin",
    "recording.keep",
    "recording.remove",
    "responses.judge",
    "retention.delete",
    "run.cancel",
    "run.start",
    "samples.add",
    "systems.answer",
    "systems.think_aloud",
    "topics.fill",
    "traces.draw",
    "traces.send",
    "transcript.confirm",
    "transcript.store",
    "upload.fetch",
    "upload.keep",
    "upload.map",
    "upload.project",
    "upload.read",
    "upload.remove",
    "view.delete",
    "view.save",
)
PERMANENT = ("account.create", "account.password", "demo.load", "project.copy")


def _listed(actions: tuple[str, ...]) -> str:
    return ", ".join(f"'{action}'" for action in actions)


FUNCTION = """
CREATE OR REPLACE FUNCTION crowdqc_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Erasure of a person's log is one exception; it sets this for its own transaction.
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'annotation_eventbatch'
        AND current_setting('crowdqc.erasing', true) = 'on' THEN
        RETURN OLD;
    END IF;
    {retention}
    -- Tests empty their own databases between one another; no other process sets this.
    IF TG_OP = 'TRUNCATE' AND current_setting('crowdqc.may_truncate', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
# The other: retention, and no entry younger than the least times of evaluation.retention.kinds.
RETENTION = f"""
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'annotation_auditentry'
        AND current_setting('crowdqc.retention', true) = 'on' THEN
        IF OLD.action = ANY (ARRAY[{_listed(EVERYDAY)}]) THEN
            IF OLD.at < now() - interval '90 days' THEN
                RETURN OLD;
            END IF;
        ELSIF OLD.action <> ALL (ARRAY[{_listed(PERMANENT)}])
            AND OLD.at < now() - interval '2190 days' THEN
            RETURN OLD;
        END IF;
    END IF;
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0033_sides_known")]

    operations = [
        migrations.AddField(
            model_name="installationstate",
            name="retention",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.RunSQL(
            FUNCTION.format(retention=RETENTION.strip()), FUNCTION.format(retention="")
        ),
    ]
