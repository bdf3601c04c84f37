from django.db import migrations

# The planner could begin with the answers: before they are analysed it takes them for few, and went
# through all values once for each (an import's first 2,000 answers of two votes took a second). So
# each value looks up its own answer, in the functions as migration 0008 left them.
CHANGES = (
    ("crowdqc_values_counted()", "before_it", "USING (answer_id)", "answer_id"),
    ("crowdqc_values_counted()", "after_it", "USING (answer_id)", "answer_id"),
    ("crowdqc_answers_counted()", "before_it", "AS pair ON pair.answer_id = before_it.id", "id"),
)


def replacing(function: str, old: str, new: str) -> str:
    return f"""
DO $body$
DECLARE
    before_it text := pg_get_functiondef('{function}'::regprocedure);
    after_it text := replace(before_it, '{old}', '{new}');
BEGIN
    IF after_it = before_it THEN
        RAISE EXCEPTION '{function} does not say: {old}';
    END IF;
    EXECUTE after_it;
END $body$
"""


def changed(function: str, rows: str, how: str, key: str) -> migrations.RunSQL:
    old = f"FROM {rows} JOIN crowdqc_pair_answer {how}"
    own = f"crowdqc_pair_answer AS one WHERE one.answer_id = {rows}.{key} OFFSET 0"
    new = f"FROM {rows} CROSS JOIN LATERAL (SELECT * FROM {own}) AS pair"  # noqa: S608 (our names)
    return migrations.RunSQL(replacing(function, old, new), replacing(function, new, old))


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0008_counts_by_index"),
    ]

    operations = [changed(*change) for change in CHANGES]
