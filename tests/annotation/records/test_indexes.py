"""What every write pays for: the indexes of the tables that grow with answers, runs and calls."""

from __future__ import annotations

import pytest
from django.db import connection

LARGE = {
    "annotation_answer",
    "annotation_answercount",
    "annotation_assignment",
    "annotation_assignmentitem",
    "annotation_auditentry",
    "annotation_choicevalue",
    "annotation_judgmentcount",
    "annotation_spanvalue",
    "annotation_textvalue",
    "evaluation_answerscore",
    "evaluation_candidatescore",
    "evaluation_grade",
    "evaluation_itemlabel",
    "evaluation_itemscore",
    "evaluation_llmattempt",
    "evaluation_llmcall",
    "evaluation_systemscore",
    "evaluation_workerscore",
}
BEGINNINGS = """
SELECT one.indrelid::regclass::text, one.indexrelid::regclass::text, more.indexrelid::regclass::text
FROM pg_index one JOIN pg_index more USING (indrelid)
WHERE one.indexrelid <> more.indexrelid AND NOT one.indisunique
  AND one.indpred IS NULL AND more.indpred IS NULL
  AND one.indexprs IS NULL AND more.indexprs IS NULL
  AND starts_with(more.indkey::text || ' ', one.indkey::text || ' ')
"""


@pytest.mark.django_db
def test_no_large_table_fills_an_index_that_is_the_beginning_of_another() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables")
        assert {name for (name,) in cursor.fetchall()} >= LARGE
        cursor.execute(BEGINNINGS)
        found = [(index, other) for table, index, other in cursor.fetchall() if table in LARGE]
    assert found == []
