"""What the owner of the installation has switched for all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0028_notice_texts"),
    ]

    operations = [
        migrations.CreateModel(
            name="InstallationState",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("read_only_since", models.DateTimeField(blank=True, null=True)),
                ("read_only_reason", models.CharField(blank=True, max_length=300)),
                ("banner", models.CharField(blank=True, max_length=300)),
                ("changed_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="installation_state_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("read_only_since__isnull", True),
                            models.Q(("read_only_reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="installation_read_only_says_why",
                    ),
                ],
            },
        ),
    ]
