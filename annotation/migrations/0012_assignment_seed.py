from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_mail_tried_first"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="seed",
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
