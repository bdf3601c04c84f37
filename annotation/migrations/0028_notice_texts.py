"""Notices in each language of the pages, so that a reader who changes theirs can still read them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0027_item_chats"),
    ]

    operations = [
        migrations.AddField(
            model_name="notice",
            name="texts",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
