"""Archived projects, usual quotas, and features that are switched off."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0029_installation_state"),
    ]

    operations = [
        migrations.AddField(
            model_name="installationstate",
            name="quotas",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="installationstate",
            name="switched_off",
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name="project",
            name="archived_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
