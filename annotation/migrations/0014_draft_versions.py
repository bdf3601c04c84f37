from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0013_owner_signs_in_without_mail"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignmentitem",
            name="draft_versions",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
