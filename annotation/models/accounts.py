"""What accounts need besides the tables of allauth: mail that waits to be sent."""

from __future__ import annotations

from django.db import models


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

    class Meta:
        indexes = [models.Index(fields=["mail_at"], name="account_mail_due")]
