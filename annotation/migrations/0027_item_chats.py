"""Items get their conversations apart from candidates: one transaction that locks both tables can
meet a page that reads both in the other order."""

import django.db.models.deletion
from django.db import migrations, models

# A conversation that workers were shown stays what it was, as a question does.
TRIGGER = """
CREATE TRIGGER crowdqc_chat_of_item BEFORE UPDATE ON annotation_item
    FOR EACH ROW WHEN (OLD.chat_id IS DISTINCT FROM NEW.chat_id)
    EXECUTE FUNCTION crowdqc_answered_immutable();
"""
UNDO = "DROP TRIGGER crowdqc_chat_of_item ON annotation_item;"


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0026_traces"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="chat",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="items",
                to="annotation.chatcontent",
            ),
        ),
        migrations.RunSQL(TRIGGER, UNDO),
    ]
