"""Where files of any kind lie, and the images and sound that items show."""

from __future__ import annotations

from django.db import models

from annotation.models.people import Project, User


class StoredFile(models.Model):
    """A file that was written whole and never changes; rows that show or offer it point here.

    ``storage`` is its place among the STORAGES of the settings. One that no row points to any more
    is deleted (``annotation.files.stored``).
    """

    storage = models.CharField(max_length=20)
    name = models.CharField(max_length=120, unique=True)
    size = models.PositiveBigIntegerField()  # bytes
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)


class MediaFile(models.Model):
    """An image or sound as it is served: checked, written anew, and never changed after that.

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
    """Where the bytes of a file lie, apart from its row, so that lists of items never read them."""

    file = models.OneToOneField(
        MediaFile, on_delete=models.CASCADE, primary_key=True, related_name="content"
    )
    stored = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    thumbnail = models.BinaryField(default=bytes)  # JPEG; empty of sound
