import django.db.models.deletion
from django.db import migrations, models

ROLES = [
    ("requester", "requester"),
    ("manager", "manager"),
    ("viewer", "viewer"),
    ("worker", "worker"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0020_estimated_seconds"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkerOrigin",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("device", "Device"), ("network", "Network")], max_length=8
                    ),
                ),
                ("digest", models.BinaryField(max_length=16)),
                ("first_on", models.DateField()),
                ("last_on", models.DateField()),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="origins",
                        to="annotation.membership",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("worker", "kind", "digest"), name="worker_origin_once"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="consenttext",
            name="devices",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="paymentdetails",
            name="reference_hash",
            field=models.BinaryField(null=True),
        ),
        migrations.AlterField(
            model_name="invitation",
            name="role",
            field=models.CharField(choices=ROLES, default="worker", max_length=10),
        ),
        migrations.AlterField(
            model_name="membership",
            name="role",
            field=models.CharField(choices=ROLES, max_length=10),
        ),
    ]
