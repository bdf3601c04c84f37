"""Where this side keeps sealed values, for ``reseal_secrets``."""

from __future__ import annotations

from annotation.accounts.signing import outbox
from annotation.notifications.actions import webhooks as hooks
from annotation.payouts.details import actions as payment_details
from annotation.records.actions import replies
from annotation.recruitment.platforms import prolific, webhook
from annotation.traces.actions import sources as trace_sources
from crowdqc.sealing.sealed import register

register("annotation.Recruitment", "token_sealed", prolific.PURPOSE)
register("annotation.Recruitment", "webhook_sealed", webhook.PURPOSE)
register("annotation.TraceSource", "key_sealed", trace_sources.PURPOSE)
register("annotation.Hook", "secret_sealed", hooks.PURPOSE)
register("annotation.PaymentDetails", "sealed", payment_details.PURPOSE)
register("annotation.KeptReply", "sealed", replies.PURPOSE)
# Second factors, as the adapter for django-allauth seals them.
register("mfa.Authenticator", "data", "second factor", "secret", "seed", "migrated_codes")
register("annotation.AccountMail", "sealed", outbox.PURPOSE)
