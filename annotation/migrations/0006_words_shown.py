from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0005_user_language"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="words_shown",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
    ]
