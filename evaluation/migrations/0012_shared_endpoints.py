"""Endpoints of an organisation, which all its projects use."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0036_organisations"),
        ("evaluation", "0011_month_spent"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="organisation",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="endpoints",
                to="annotation.organisation",
            ),
        ),
        migrations.AlterField(
            model_name="endpoint",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="endpoints",
                to="annotation.project",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(
                condition=models.Q(("archived_at__isnull", True)),
                fields=("organisation", "name"),
                name="shared_endpoint_name_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("organisation__isnull", True), ("project__isnull", False)),
                    models.Q(("organisation__isnull", False), ("project__isnull", True)),
                    _connector="OR",
                ),
                name="endpoint_of_one",
            ),
        ),
    ]
