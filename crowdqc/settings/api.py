"""The REST API and its schema."""

from __future__ import annotations

from crowdqc.deployment.installation import read_version

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.api.frame.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotation.api.frame.auth.InScope",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["crowdqc.web.parsers.JSONBody"],
    "DEFAULT_SCHEMA_CLASS": "annotation.api.frame.base.Schema",
    "EXCEPTION_HANDLER": "annotation.api.frame.base.refusal_response",
    "NUM_PROXIES": 0,  # crowdqc.web.forwarded has set REMOTE_ADDR
}
SPECTACULAR_SETTINGS = {
    "TITLE": "crowdqc",
    "DESCRIPTION": "Collect, score, review and pay, with the same permissions as the browser.",
    "VERSION": read_version(),
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "Role": "annotation.models.people.Role",
        "TaskState": "annotation.models.tasks.TaskState",
        "AssignmentState": "annotation.models.assignments.AssignmentState",
        "RunState": "evaluation.models.RunState",
        "DecisionEnum": "annotation.models.PayoutLine.Decision",
        "WorkDecision": "annotation.models.decisions.Decision",
        "PayoutState": "annotation.models.PayoutBatch.State",
        "PaymentState": "annotation.models.Payment.State",
        "FileState": "annotation.models.ExportFile.State",
        "DeliveryState": "annotation.models.HookDelivery.State",
        "LedgerKind": "annotation.models.LedgerEntry.Kind",
        "RecruitmentKind": "annotation.models.Recruitment.Kind",
        "RejectionOutcome": "annotation.models.Rejection.Outcome",
        "StaffRole": ["requester", "manager"],
        "CorrectionState": "annotation.models.Correction.State",
        "RoleGrantState": "annotation.models.RoleGrant.State",
        "OrganisationRole": "annotation.models.OrganisationRole",
    },
}
