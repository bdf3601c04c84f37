"""Keep each text that a consent was given to, word for word.

Consents of before get theirs: of each agreement in the audit log, else by version and task type.
Where several types were agreed to and the log says nothing, no text is stored.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

RECORDED = "{{recorded}}"
COMPARED = (
    "Where you compare texts: each choice as you make it, and how long each text is on screen or "
    "under the pointer."
)
EXPLAINED = "Where you explain a choice: the explanation, and the sentences you point at."
READ = (
    "Where you write from passages: which of them you open, how long each is in view, and that you "
    "search them, not for what."
)
SPOKEN = (
    "Where you think aloud: the transcript, what you mark in it, and, where a task asks for it, "
    "your voice from when you press Record until you press Stop."
)
# What was recorded by type when these consents were given, in the order of the whole text.
BY_TYPE = {
    "pairwise": (COMPARED, EXPLAINED),
    "rating": (COMPARED, EXPLAINED),
    "labels": (EXPLAINED,),
    "checklist": (COMPARED,),
    "writing": (READ,),
    "free_text": (),
    "think_aloud": (SPOKEN,),
}
# Agreements in the audit log; their types are part of the consent, also where it was widened later.
LOGGED = """
SELECT consent.id, consent.text_id, entry.at,
    ARRAY(SELECT jsonb_array_elements_text(entry.detail -> 'task_types'))::varchar(20)[] AS types
FROM annotation_auditentry AS entry JOIN annotation_consent AS consent
    ON entry.object_id = consent.id
WHERE entry.action = 'consent.give' AND entry.object_type = 'consent'
    AND jsonb_typeof(entry.detail -> 'task_types') = 'array'
"""
ALONE = """
SELECT consent.id, consent.text_id, consent.given_at AS at, consent.task_types AS types
FROM annotation_consent AS consent JOIN annotation_consenttext AS text ON text.id = consent.text_id
WHERE (cardinality(consent.task_types) <= 1 OR position(%s IN text.text) = 0)
    AND NOT EXISTS (SELECT FROM annotation_agreedtext WHERE consent_id = consent.id)
"""
KINDS = """
SELECT DISTINCT found.text_id, found.types, text.text
FROM ({rows}) AS found JOIN annotation_consenttext AS text ON text.id = found.text_id
"""
STORE = """
INSERT INTO annotation_agreedtext (consent_id, task_types, words, given_at)
SELECT DISTINCT ON (found.id, found.types) found.id, found.types, %s, found.at
FROM ({rows}) AS found WHERE found.text_id = %s AND found.types = %s::varchar(20)[]
ORDER BY found.id, found.types, found.at
ON CONFLICT DO NOTHING
"""


def fill_in(text, types):
    told = dict.fromkeys(words for kind in types or BY_TYPE for words in BY_TYPE.get(kind, ()))
    return text.replace(RECORDED, " ".join(told))


def fill(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        for rows, values in ((LOGGED, []), (ALONE, [RECORDED])):
            cursor.execute(KINDS.replace("{rows}", rows), values)
            for text_id, types, text in cursor.fetchall():
                store = [fill_in(text, types), *values, text_id, types]
                cursor.execute(STORE.replace("{rows}", rows), store)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0038_corrected_spelling")]

    operations = [
        migrations.CreateModel(
            name="AgreedText",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "task_types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("words", models.TextField(help_text="Markdown")),
                ("given_at", models.DateTimeField(auto_now_add=True)),
                (
                    "consent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agreed_texts",
                        to="annotation.consent",
                    ),
                ),
            ],
            options={
                "ordering": ["given_at", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("consent", "task_types"), name="agreed_text_once"
                    )
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
