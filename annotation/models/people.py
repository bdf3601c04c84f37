"""Projects, who belongs to them in which role, how they got in, and what they agreed to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy, pgettext_lazy


class People(UserManager["User"]):
    """Makes accounts; that of the owner of the installation can sign in without any mail."""

    def create_superuser(
        self, username: str, email: str | None = None, password: str | None = None, **fields: Any
    ) -> User:
        """Create a superuser whose address counts as verified."""
        from allauth.account.models import EmailAddress

        owner = super().create_superuser(username, email, password, **fields)
        if owner.email:
            EmailAddress.objects.create(
                user=owner, email=owner.email.lower(), verified=True, primary=True
            )
        return owner


class User(AbstractUser):
    """A person who can sign in. What they may do is said by their memberships alone."""

    class Theme(models.TextChoices):
        SYSTEM = "", pgettext_lazy("theme", "System")
        LIGHT = "light", pgettext_lazy("theme", "Light")
        DARK = "dark", pgettext_lazy("theme", "Dark")

    display_name = models.CharField(max_length=80, blank=True)
    # A code of settings.LANGUAGES; empty: as the browser asks.
    language = models.CharField(max_length=7, blank=True, default="", db_default="")
    # Colours of pages; empty: as the device says.
    theme = models.CharField(max_length=5, blank=True, choices=Theme.choices, default=Theme.SYSTEM)
    # Whether notices come by e-mail as well, and then as one mail a day.
    wants_mail = models.BooleanField(default=True)
    mail_daily = models.BooleanField(default=False)
    # Kinds of notices that the person switched off (notice_kinds).
    muted = models.JSONField(default=list, blank=True)

    objects: ClassVar[People] = People()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), condition=~Q(email=""), name="user_email_once")
        ]

    def __str__(self) -> str:
        return self.display_name or self.username


class Role(models.TextChoices):
    """What a membership allows; one person may hold several, each its own row."""

    REQUESTER = "requester", pgettext_lazy("role", "requester")
    MANAGER = "manager", pgettext_lazy("role", "manager")
    VIEWER = "viewer", pgettext_lazy("role", "viewer")
    WORKER = "worker", pgettext_lazy("role", "worker")


class Project(models.Model):
    """What a team works on: tasks, people, systems, money in one currency."""

    name = models.CharField(max_length=120)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="owned_projects")
    organisation = models.ForeignKey(
        "annotation.Organisation",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="projects",
    )
    currency = models.CharField(max_length=3, default="EUR")
    hourly_floor = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    # Only the owner may set this, for a project with one manager; the audit log records it.
    single_approval = models.BooleanField(default=False)
    # Whether approving and sending money needs a second factor; null: as the installation says.
    second_factor = models.BooleanField(null=True, blank=True)
    # What managers may book by hand alone within a day; more needs a second one.
    correction_limit = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal("50.00"))
    # Days a worker has to reply to a rejection, and days in which the reply is owed an answer.
    reply_days = models.PositiveSmallIntegerField(default=30)
    answer_days = models.PositiveSmallIntegerField(default=7)
    # Days after its submit in which work is owed a decision; named, never decided automatically.
    decide_days = models.PositiveSmallIntegerField(default=7)
    # Whether workers see their own scores, with what these cannot say.
    show_scores = models.BooleanField(default=False)
    # Days after which answers' texts are erased; empty: kept.
    answer_days_kept = models.PositiveIntegerField(null=True, blank=True)
    # Since when nobody but owners of the installation changes it.
    archived_at = models.DateTimeField(null=True, blank=True)
    # Since when nothing but its books is there or comes back (evaluation.deletion).
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(currency__regex=r"^[A-Z]{3}$"), name="project_iso"),
            models.CheckConstraint(
                condition=Q(budget__isnull=True) | Q(budget__gte=0), name="project_budget_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ProjectPlugin(models.Model):
    """A plug-in of this installation that a project uses, by the name of its entry point."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="plugins")
    name = models.CharField(max_length=40)
    enabled_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    enabled_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="project_plugin_once")
        ]


class QuotaOverride(models.Model):
    """How much of something a person or a project may have, where it is not what others may."""

    name = models.CharField(max_length=40)  # of annotation.accounts.quotas
    most = models.PositiveIntegerField()
    person = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, blank=True, related_name="quotas"
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="quotas"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "name"],
                condition=Q(person__isnull=False),
                name="quota_once_a_person",
            ),
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=Q(project__isnull=False),
                name="quota_once_a_project",
            ),
            models.CheckConstraint(
                condition=Q(person__isnull=False, project__isnull=True)
                | Q(person__isnull=True, project__isnull=False),
                name="quota_of_one",
            ),
        ]


class Membership(models.Model):
    """One role of one person in one project.

    A worker's membership carries the pseudonym everybody else sees. A worker known only from
    an imported file has no user, but the file's id in ``external_id``.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices)
    pseudonym = models.CharField(max_length=40, blank=True)
    external_id = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    # Since when a manager lets them write no messages; they still get some.
    messages_blocked_at = models.DateTimeField(null=True, blank=True)
    # When erasing the person's texts and log was decided, and when it was done; the pseudonym and
    # the money stay.
    erase_asked_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user", "role"], name="membership_once"),
            models.UniqueConstraint(
                fields=["project", "pseudonym"],
                condition=~Q(pseudonym=""),
                name="membership_pseudonym_once",
            ),
            models.UniqueConstraint(
                fields=["project", "external_id"],
                condition=~Q(external_id=""),
                name="membership_external_once",
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False) | (Q(role="worker") & ~Q(external_id="")),
                name="membership_is_somebody",
            ),
            models.CheckConstraint(
                condition=~Q(role="worker") | ~Q(pseudonym=""), name="membership_worker_named"
            ),
        ]
        indexes = [models.Index(fields=["user", "role"])]

    def __str__(self) -> str:
        return self.pseudonym or f"{self.user} ({self.role})"


class Invitation(models.Model):
    """A way in: signed, expiring, revocable, for one person or for as many as ``max_uses``."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.WORKER)
    note = models.CharField(max_length=120, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    max_uses = models.PositiveIntegerField(default=1)
    uses = models.PositiveIntegerField(default=0)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # Where its link is mailed: the address until the mail left or was given up, after that only
    # enough of it to know the row by, until somebody joined.
    email = models.CharField(max_length=254, blank=True)
    sent_to = models.CharField(max_length=80, blank=True)
    # Who alone may use it: whoever has proven to read mail to this address. Kept until it ended.
    bound_to = models.CharField(max_length=254, blank=True)
    mail_at = models.DateTimeField(null=True, blank=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    # When it was tried first: since then it is late, whenever the next try is.
    mail_tried_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(max_uses__gte=1) & Q(uses__lte=F("max_uses")), name="invitation_cap"
            ),
            # A link that gives a role over others never stands open without an address.
            models.CheckConstraint(
                condition=Q(role="worker")
                | ~Q(bound_to="")
                | Q(revoked_at__isnull=False)
                | Q(uses=F("max_uses")),
                name="invitation_of_a_role_is_bound",
            ),
        ]
        indexes = [
            models.Index(
                fields=["mail_at"], condition=Q(mail_at__isnull=False), name="invitation_mail_owed"
            )
        ]


class ConsentText(models.Model):
    """What workers of a project are asked to agree to; a changed text is a new version."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="consent_texts")
    number = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown")
    retention_days = models.PositiveIntegerField(default=365)
    # Whether recordings may be sent to a model that writes them down; pages say so beside the text.
    transcription = models.BooleanField(default=False, db_default=False)
    # Whether devices and networks are compared by keyed hashes; pages say so beside the text.
    devices = models.BooleanField(default=False, db_default=False)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="consent_text_once")
        ]


class Consent(models.Model):
    """That one worker agreed to one version, and whether they took it back."""

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="consents")
    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT)
    # The types of tasks whose recording the worker read of; empty: of all types.
    task_types = ArrayField(
        models.CharField(max_length=20), blank=True, default=list, db_default=[]
    )
    given_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["membership", "text"],
                condition=Q(withdrawn_at__isnull=True),
                name="consent_once",
            )
        ]

    def covers(self, task_type: str) -> bool:
        """Whether the worker agreed to what tasks of this type record."""
        return not self.task_types or task_type in self.task_types


class AgreedText(models.Model):
    """One text that a consent was given to, word for word as its worker read it; never changed.

    A version reads differently for each type of task, so that a consent may have several.
    """

    consent = models.ForeignKey(Consent, on_delete=models.CASCADE, related_name="agreed_texts")
    # The types of tasks whose recording the text names; empty: all types.
    task_types = ArrayField(models.CharField(max_length=20), blank=True, default=list)
    words = models.TextField(help_text="Markdown")
    given_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["given_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["consent", "task_types"], name="agreed_text_once")
        ]


class WorkerOrigin(models.Model):
    """A device or network that a worker took work from, as a keyed hash of its project.

    Recorded under a consent that covers it, kept for the days of the interaction log, and deleted
    with the worker's erasure. Two projects have different hashes of one device.
    """

    class Kind(models.TextChoices):
        DEVICE = "device", gettext_lazy("Device")
        NETWORK = "network", gettext_lazy("Network")

    worker = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="origins")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    digest = models.BinaryField(max_length=16)
    first_on = models.DateField()
    last_on = models.DateField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["worker", "kind", "digest"], name="worker_origin_once")
        ]


class Panel(models.Model):
    """Named workers of a project who alone may take the tasks that ask for them."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="panels")
    name = models.CharField(max_length=80)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="panel_name_once")]

    def __str__(self) -> str:
        return self.name


class PanelMember(models.Model):
    """That one worker belongs to a panel, since when and until when."""

    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="members")
    worker = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="panels")
    since = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField(null=True, blank=True)
    # Who let them in and who ended it, why each, and the number of the run behind it.
    added_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    run_number = models.PositiveIntegerField(null=True, blank=True)
    why = models.CharField(max_length=300, blank=True)
    end_why = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["panel", "worker"], condition=Q(until__isnull=True), name="on_panel_once"
            )
        ]
