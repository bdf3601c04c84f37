"""State of point-in-time recovery (crowdqc.deployment.backup.recovery): one row, in no backup."""

from django.db import migrations

RECOVERY = """
CREATE TABLE IF NOT EXISTS crowdqc_recovery (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    timeline text, marked_at timestamptz, base_at timestamptz, restored_at timestamptz);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0031_checked_rows"),
    ]

    operations = [migrations.RunSQL(RECOVERY, migrations.RunSQL.noop)]
