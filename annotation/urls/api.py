"""Addresses of the API, its schema and its page."""

from django.urls import path
from django.views.decorators.cache import cache_page
from drf_spectacular.views import SpectacularAPIView

from annotation.accounts.roles import api as roles
from annotation.api import (
    audit,
    exports,
    files,
    money,
    panels,
    payments,
    project,
    staff,
    thinking,
    work,
    writing,
)
from annotation.api import me as own
from annotation.api import notifications as told
from annotation.api import recruitment as ways
from annotation.api.frame import docs, token
from annotation.payouts.corrections import api as corrections

SCHEMA_SECONDS = 3600  # it is the same until the code changes, and takes a while to make

urlpatterns = [
    path(
        "schema/",
        cache_page(SCHEMA_SECONDS)(SpectacularAPIView.as_view()),
        name="api_schema",
    ),
    path("", docs.page, name="api_docs"),
    path("token/", token.Token.as_view(), name="api_token"),
    path("projects/", project.Projects.as_view(), name="api_projects"),
    path("projects/<int:project_id>/", project.ProjectDetail.as_view(), name="api_project"),
    *(
        path(f"projects/<int:project_id>/{part}/", view.as_view(), name=f"api_{name}")
        for part, view, name in (
            ("consent-texts", project.ConsentTexts, "consent_texts"),
            ("staff", project.Staff, "staff"),
            ("workers", project.Workers, "workers"),
            ("people/<int:membership_id>", project.Person, "person"),
            ("invitations", project.Invitations, "invitations"),
            ("invitations/mail", project.InvitationsByMail, "invitations_mail"),
            ("invitations/<int:invitation_id>", project.OneInvitation, "invitation"),
            ("role-grants", roles.RoleGrants, "role_grants"),
            ("role-grants/<int:grant_id>/confirm", roles.RoleConfirm, "role_confirm"),
            ("role-grants/<int:grant_id>/decline", roles.RoleDecline, "role_decline"),
            ("corrections", corrections.Corrections, "corrections"),
            (
                "corrections/<int:correction_id>/approve",
                corrections.CorrectionApprove,
                "correction_approve",
            ),
            (
                "corrections/<int:correction_id>/decline",
                corrections.CorrectionDecline,
                "correction_decline",
            ),
            ("audit", audit.Audit, "audit"),
            ("ledger", money.Ledger, "ledger"),
            ("accounts", money.Accounts, "accounts"),
            ("rejections", money.Rejections, "rejections"),
            ("rejections/<int:rejection_id>/decide", money.RejectionDecide, "rejection_decide"),
            ("payments", payments.Payments, "payments"),
            ("payments/sent", payments.PaymentsSent, "payments_sent"),
            ("payments/<int:payment_id>/again", payments.PaymentAgain, "payment_again"),
            ("payments/<int:payment_id>/resolve", payments.PaymentResolve, "payment_resolve"),
            ("files", files.Files, "files"),
            ("files/<int:file_id>", files.OneFile, "file"),
            ("files/<int:file_id>/content", files.FileContent, "file_content"),
            ("panels", panels.Panels, "panels"),
            ("panels/<int:panel_id>", panels.OnePanel, "panel"),
            ("panels/<int:panel_id>/members", panels.Members, "panel_members"),
            (
                "panels/<int:panel_id>/members/<int:member_id>/end",
                panels.MemberEnd,
                "panel_member_end",
            ),
            ("hooks", told.Hooks, "hooks"),
            ("hooks/<int:hook_id>", told.OneHook, "hook"),
            ("hooks/<int:hook_id>/step", told.HookStep, "hook_step"),
            ("hooks/<int:hook_id>/deliveries", told.Deliveries, "deliveries"),
            (
                "hooks/<int:hook_id>/deliveries/<int:delivery_id>/again",
                told.DeliverAgain,
                "deliver_again",
            ),
        )
    ),
    path("projects/<int:project_id>/tasks/", staff.ProjectTasks.as_view(), name="api_tasks"),
    path("tasks/<int:task_id>/", staff.TaskDetail.as_view(), name="api_task"),
    path("tasks/<int:task_id>/publish/", staff.TaskPublish.as_view(), name="api_task_publish"),
    path("tasks/<int:task_id>/move/", staff.TaskMove.as_view(), name="api_task_move"),
    path("tasks/<int:task_id>/items/", staff.TaskItems.as_view(), name="api_items"),
    path("tasks/<int:task_id>/answers/", staff.TaskAnswers.as_view(), name="api_answers"),
    path(
        "tasks/<int:task_id>/system-answers/",
        staff.TaskSystemAnswers.as_view(),
        name="api_system_answers",
    ),
    path("tasks/<int:task_id>/topics/", writing.TaskTopics.as_view(), name="api_topics"),
    path("tasks/<int:task_id>/responses/", writing.TaskResponses.as_view(), name="api_responses"),
    path("tasks/<int:task_id>/samples/", thinking.TaskSamples.as_view(), name="api_samples"),
    path(
        "tasks/<int:task_id>/attributes/", thinking.TaskAttributes.as_view(), name="api_attributes"
    ),
    path("tasks/<int:task_id>/checks/", thinking.TaskChecks.as_view(), name="api_checks"),
    path("tasks/<int:task_id>/judge/", writing.TaskJudge.as_view(), name="api_judge"),
    path("tasks/<int:task_id>/judgments/", staff.TaskJudgments.as_view(), name="api_judgments"),
    path(
        "tasks/<int:task_id>/assignments/", staff.TaskAssignments.as_view(), name="api_assignments"
    ),
    path(
        "tasks/<int:task_id>/export/<slug:what>.<slug:form>",
        exports.TaskExport.as_view(),
        name="api_export",
    ),
    path("answers/<int:answer_id>/", staff.AnswerDetail.as_view(), name="api_answer"),
    *(
        path(f"tasks/<int:task_id>/{part}/", view.as_view(), name=f"api_{name}")
        for part, view, name in (
            ("panels", panels.Asking, "task_panels"),
            ("rounds", panels.Rounds, "rounds"),
            ("rounds/<int:assignment_id>", panels.RoundDecide, "round"),
            ("recruitments", ways.Ways, "ways"),
            ("recruitments/<int:recruitment_id>", ways.OneWay, "way"),
            ("recruitments/<int:recruitment_id>/links", ways.WayLinks, "way_links"),
            ("recruitments/<int:recruitment_id>/let-in", ways.WayLetIn, "way_let_in"),
            ("statements", payments.Statements, "statements"),
            (
                "statements/<int:statement_id>/rows/<int:place>/book",
                payments.StatementBook,
                "statement_book",
            ),
        )
    ),
    path("notices/", told.Notices.as_view(), name="api_notices"),
    path("notices/read/", told.NoticesRead.as_view(), name="api_notices_read"),
    *(
        path(f"work/{part}/", view.as_view(), name=f"api_own_{name}")
        for part, view, name in (
            ("ledger", own.OwnLedger, "ledger"),
            ("rejections", own.OwnRejections, "rejections"),
            ("rejections/<int:rejection_id>/reply", own.OwnReply, "reply"),
            ("consents", own.OwnConsents, "consents"),
            ("rounds", own.OwnRounds, "rounds"),
            ("assignments/<int:assignment_id>/log", own.OwnLog, "log"),
            ("projects/<int:project_id>/erase-logs", own.OwnLogsErase, "logs_erase"),
        )
    ),
    path("work/join/", work.Join.as_view(), name="api_join"),
    path("work/tasks/", work.OpenTasks.as_view(), name="api_open_tasks"),
    path("work/tasks/<int:task_id>/claim/", work.Claim.as_view(), name="api_claim"),
    path("work/projects/<int:project_id>/consent/", work.WorkConsent.as_view(), name="api_consent"),
    path("work/assignments/", work.OwnAssignments.as_view(), name="api_own_assignments"),
    path(
        "work/assignments/<int:assignment_id>/", work.OwnAssignment.as_view(), name="api_assignment"
    ),
    *(
        path(f"work/assignments/<int:assignment_id>/{part}/", view.as_view(), name=f"api_{name}")
        for part, view, name in (
            ("questions/<int:position>", work.ShowQuestion, "question"),
            ("drafts/<int:item_id>", work.Draft, "draft"),
            ("submit", work.Submit, "submit"),
            ("extend", work.Extend, "extend"),
            ("return", work.GiveBack, "return"),
            ("streams", work.Streams, "streams"),
            ("events", work.Events, "events"),
        )
    ),
]
