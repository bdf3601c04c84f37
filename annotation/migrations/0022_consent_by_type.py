from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0021_origins_and_viewers"),
    ]

    operations = [
        migrations.AddField(
            model_name="consent",
            name="task_types",
            field=ArrayField(
                base_field=models.CharField(max_length=20),
                blank=True,
                db_default=[],
                default=list,
                size=None,
            ),
        ),
    ]
