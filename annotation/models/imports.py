"""Files waiting between upload, mapping of columns and import."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotation.models.files import StoredFile
from annotation.models.people import Project, User
from annotation.models.tasks import Task


class ImportFile(models.Model):
    """An uploaded file of rows for a task; what it holds is kept until it is imported.

    A table that is to become a task has none yet, and no project either unless one was chosen.
    """

    class Kind(models.TextChoices):
        ITEMS = "items", gettext_lazy("questions")
        ANSWERS = "answers", gettext_lazy("answers of workers")
        SYSTEM_ANSWERS = "system_answers", gettext_lazy("answers of systems")

    class State(models.TextChoices):
        UPLOADING = "uploading", gettext_lazy("Uploading")  # in parts
        FETCHING = "fetching", gettext_lazy("Fetching")  # from its address
        READING = "reading", gettext_lazy("Reading")
        CHECKING = "checking", gettext_lazy("Checking")
        READY = "ready", gettext_lazy("Ready to import")
        IMPORTING = "importing", gettext_lazy("Importing")
        IMPORTED = "imported", gettext_lazy("Imported")
        FAILED = "failed", gettext_lazy("Not imported")

    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, related_name="import_files"
    )
    task = models.ForeignKey(Task, on_delete=models.CASCADE, null=True, related_name="import_files")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    # Where it is fetched from; empty where somebody uploads it.
    address = models.CharField(max_length=2000, blank=True, default="", db_default="")
    # As it was uploaded, until its rows were read, or until it has become a task.
    stored = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")
    state = models.CharField(max_length=9, choices=State.choices, default=State.READING)
    mapping = models.JSONField(default=dict, blank=True)
    # Of a table that is to become a task: column -> value -> what it is read as.
    fixes = models.JSONField(default=dict, blank=True)
    sheet = models.JSONField(default=dict, blank=True)  # columns, counts and first rows
    found = models.JSONField(default=dict, blank=True)  # what became of the rows when checked
    error = models.JSONField(default=dict, blank=True)  # message, and what to do about it
    leave_out_bad = models.BooleanField(default=False)
    # The job that is at it: how far, since when, and which try; ``turn`` says whose the row is.
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    heartbeat_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)
    turn = models.PositiveIntegerField(default=0)
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    uploaded_at = models.DateTimeField(auto_now_add=True)
    # In which its rows are checked; English for a program.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    imported_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    imported_at = models.DateTimeField(null=True, blank=True)
    report = models.JSONField(default=dict, blank=True)


class ImportPart(models.Model):
    """Some rows of an upload that waits, of what is wrong with them, or of its bytes."""

    class Kind(models.TextChoices):
        ROWS = "rows", gettext_lazy("rows")
        UNREADABLE = "unreadable", gettext_lazy("unreadable rows")
        PROBLEMS = "problems", gettext_lazy("problems")
        CHECKED = (
            "checked",
            gettext_lazy("checked rows"),
        )  # as they are imported, where nothing changes meanwhile
        CONTENT = "content", gettext_lazy("bytes")  # of a file that comes in parts, as they are

    file = models.ForeignKey(ImportFile, on_delete=models.CASCADE, related_name="parts")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    number = models.PositiveIntegerField()
    data = models.BinaryField()  # compressed, but for bytes

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["file", "kind", "number"], name="import_part_once")
        ]


class ColumnChoice(models.Model):
    """How a person last read the columns of a file, for the next one with the same names."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    header = models.CharField(max_length=64)  # a hash of the names in their order
    kind = models.CharField(max_length=16)
    mapping = models.JSONField(default=dict)
    chosen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "header", "kind"], name="column_choice_once")
        ]
