"""What an endpoint's calls cost in the month that goes on."""

from django.db import migrations, models

COUNTED = """
UPDATE evaluation_endpoint AS endpoint
SET month = date_trunc('month', now())::date, month_spent = spent.cost
FROM (
    SELECT model.endpoint_id, sum(attempt.cost) AS cost
    FROM evaluation_llmattempt AS attempt
    JOIN evaluation_llmcall AS call ON call.id = attempt.call_id
    JOIN evaluation_languagemodel AS model ON model.id = call.model_id
    WHERE attempt.ended_at >= date_trunc('month', now()) AND attempt.cost IS NOT NULL
    GROUP BY 1) AS spent
WHERE endpoint.id = spent.endpoint_id;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0010_project_deletions"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="month",
            field=models.DateField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="month_spent",
            field=models.DecimalField(db_default=0, decimal_places=8, default=0, max_digits=16),
        ),
        migrations.RunSQL(COUNTED, migrations.RunSQL.noop),
    ]
