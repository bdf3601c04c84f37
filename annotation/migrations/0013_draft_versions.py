from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_assignment_seed"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignmentitem",
            name="draft_versions",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
