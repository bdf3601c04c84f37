from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0039_agreed_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="planned_per_day",
            field=models.PositiveIntegerField(blank=True, editable=False, null=True),
        ),
    ]
