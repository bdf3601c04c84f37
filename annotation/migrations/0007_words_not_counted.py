from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False  # an index made beside the work that goes on
    dependencies = [
        ("annotation", "0006_words_shown"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="assignment",
            index=models.Index(
                fields=["id"],
                condition=Q(state="submitted", words_shown=None, quiz=None) & ~Q(source="import"),
                name="words_not_counted",
            ),
        ),
    ]
