from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0040_planned_pace"),
    ]

    operations = [
        migrations.AddField(
            model_name="importfile",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=10),
        ),
    ]
