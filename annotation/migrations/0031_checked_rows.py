"""Rows of an upload as they are imported: another kind of part."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0030_archived_projects"),
    ]

    operations = [
        migrations.AlterField(
            model_name="importpart",
            name="kind",
            field=models.CharField(
                choices=[
                    ("rows", "rows"),
                    ("unreadable", "unreadable rows"),
                    ("problems", "problems"),
                    ("checked", "checked rows"),
                    ("content", "bytes"),
                ],
                max_length=10,
            ),
        ),
    ]
