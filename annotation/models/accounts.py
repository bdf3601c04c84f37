"""What accounts need besides the tables of allauth: mail to be sent, views of lists they saved."""

from __future__ import annotations

from django.db import models

from annotation.models.people import Project, User


class AccountMail(models.Model):
    """One mail about an account, from when it is written until it has left.

    A job sends it, so that no page waits for a mail server, and so that a page takes as long for
    an address that has an account as for one that has none.
    """

    email = models.CharField(max_length=254)
    # Subject and text, sealed: a link or code in it opens an account.
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)
    mail_at = models.DateTimeField()
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    # When it was tried first: since then it is late, whenever the next try is.
    mail_tried_at = models.DateTimeField(null=True, blank=True)
    # Given up: the row stays for a while without address and text, so that it is counted.
    given_up_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["mail_at"], name="account_mail_due")]


class SavedView(models.Model):
    """What one person looks for in a list of a project, under a name: the end of an address."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    list = models.CharField(max_length=40)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "user", "list", "name"], name="view_name_once"
            )
        ]
