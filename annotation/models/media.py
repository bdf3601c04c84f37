"""Images and sound that items show: one row a file and project, known by its SHA-256."""

from __future__ import annotations

from django.db import models

from annotation.models.people import Project, User


class MediaFile(models.Model):
    """A file as it is served: checked, written anew, and never changed after that.

    ``sha256`` is that of the bytes that are served, so that items, exports and answers that name
    it name exactly what was seen or heard. It is unique within a project: a second project that
    uploads the same bytes has a row of its own, and learns nothing of the first.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="media_files")
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=160)  # as it was first uploaded
    type = models.CharField(max_length=40)  # by its bytes, as "image/png"
    size = models.PositiveIntegerField()  # bytes
    width = models.PositiveIntegerField(default=0)  # pixels; 0 of sound
    height = models.PositiveIntegerField(default=0)
    address = models.CharField(max_length=300, blank=True)  # where a job fetched it
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "sha256"], name="media_once_a_project")
        ]
        indexes = [models.Index(fields=["project", "name"])]

    @property
    def is_image(self) -> bool:
        return self.type.startswith("image/")


class MediaContent(models.Model):
    """The bytes of a file, apart from its row, so that lists of items never read them."""

    file = models.OneToOneField(
        MediaFile, on_delete=models.CASCADE, primary_key=True, related_name="content"
    )
    data = models.BinaryField()
    thumbnail = models.BinaryField(default=bytes)  # JPEG; empty of sound
