"""Addresses of the API, its schema and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import URLPattern, URLResolver, include

from crowdqc.web.addresses import lazy_views, path

if TYPE_CHECKING:
    from rest_framework.views import APIView
with lazy_views():
    from annotation.accounts.plugins import api as plugins
    from annotation.accounts.roles import api as roles
    from annotation.api import (
        conversations,
        files,
        me,
        notifications,
        panels,
        payments,
        project,
        recruitment,
        staff,
        work,
    )
    from annotation.api.frame import docs
    from annotation.payouts.corrections import api as corrections


def endpoints(prefix: str, *rows: tuple[str, type[APIView], str]) -> list[URLPattern | URLResolver]:
    """Make the URL patterns of endpoints below a prefix, from (path, view, name).

    The prefix is looked at once, so that a request passes over them all where it is another.
    """
    below = [path(f"{part}/", view.as_view(), name=f"api_{name}") for part, view, name in rows]
    return [path(prefix, include(below))] if prefix else below


urlpatterns = [
    # First what programs that work ask for most.
    *endpoints(
        "work/assignments/<int:assignment_id>/",
        ("submit", work.Submit, "submit"),
        ("questions/<int:position>", work.ShowQuestion, "question"),
        ("drafts/<int:item_id>", work.Draft, "draft"),
        ("questions/<int:position>/feedback", work.Feedback, "feedback"),
        ("extend", work.Extend, "extend"),
        ("return", work.ReturnAssignment, "return"),
        ("messages", conversations.WorkMessage, "work_ask"),
        ("streams", work.Streams, "streams"),
        ("events", work.Events, "events"),
    ),
    *endpoints(
        "work/",
        ("tasks/<int:task_id>/claim", work.Claim, "claim"),
        ("ledger", me.OwnLedger, "own_ledger"),
        ("rejections", me.OwnRejections, "own_rejections"),
        ("rejections/<int:rejection_id>/reply", me.OwnReply, "own_reply"),
        ("consents", me.OwnConsents, "own_consents"),
        ("rounds", me.OwnRounds, "own_rounds"),
        ("assignments/<int:assignment_id>/log", me.OwnLog, "own_log"),
        ("projects/<int:project_id>/erase-logs", me.OwnLogsErase, "own_logs_erase"),
        ("join", work.Join, "join"),
        ("tasks", work.OpenTasks, "open_tasks"),
        ("projects/<int:project_id>/consent", work.WorkConsent, "consent"),
        ("assignments", work.OwnAssignments, "own_assignments"),
        ("assignments/<int:assignment_id>", work.OwnAssignment, "assignment"),
        ("conversations", conversations.OwnConversations, "own_conversations"),
        ("conversations/<int:conversation_id>", conversations.OwnConversation, "own_conversation"),
        ("conversations/<int:conversation_id>/messages", conversations.OwnMessages, "own_messages"),
        ("conversations/<int:conversation_id>/read", conversations.OwnRead, "own_read"),
        ("conversations/<int:conversation_id>/report", conversations.OwnReport, "own_report"),
    ),
    path("schema/", docs.schema, name="api_schema"),
    path("", docs.page, name="api_docs"),
    path("projects/<int:project_id>/", project.ProjectDetail.as_view(), name="api_project"),
    path("tasks/<int:task_id>/", staff.TaskDetail.as_view(), name="api_task"),
    path(
        "tasks/<int:task_id>/export/<slug:what>.<slug:form>",
        files.TaskExport.as_view(),
        name="api_export",
    ),
    *endpoints(
        "",
        ("token", me.Token, "token"),
        ("projects", project.Projects, "projects"),
        ("answers/<int:answer_id>", staff.AnswerDetail, "answer"),
        ("notices", notifications.Notices, "notices"),
        ("notices/read", notifications.NoticesRead, "notices_read"),
    ),
    *endpoints(
        "projects/<int:project_id>/",
        ("consent-texts", project.ConsentTexts, "consent_texts"),
        ("plugins", plugins.ProjectPlugins, "plugins"),
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
        ("audit", project.Audit, "audit"),
        ("ledger", payments.Ledger, "ledger"),
        ("accounts", payments.Accounts, "accounts"),
        ("rejections", payments.Rejections, "rejections"),
        ("rejections/<int:rejection_id>/decide", payments.RejectionDecide, "rejection_decide"),
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
        ("panels/<int:panel_id>/members/<int:member_id>/end", panels.MemberEnd, "panel_member_end"),
        ("hooks", notifications.Hooks, "hooks"),
        ("hooks/<int:hook_id>", notifications.OneHook, "hook"),
        ("hooks/<int:hook_id>/step", notifications.HookStep, "hook_step"),
        ("hooks/<int:hook_id>/deliveries", notifications.Deliveries, "deliveries"),
        (
            "hooks/<int:hook_id>/deliveries/<int:delivery_id>/again",
            notifications.DeliverAgain,
            "deliver_again",
        ),
        ("tasks", staff.ProjectTasks, "tasks"),
    ),
    *endpoints(
        "tasks/<int:task_id>/",
        ("publish", staff.TaskPublish, "task_publish"),
        ("move", staff.TaskMove, "task_move"),
        ("items", staff.TaskItems, "items"),
        ("imports", staff.TaskImports, "imports"),
        ("imports/<slug:kind>", staff.TaskImport, "import"),
        ("answers", staff.TaskAnswers, "answers"),
        ("system-answers", staff.TaskSystemAnswers, "system_answers"),
        ("topics", staff.TaskTopics, "topics"),
        ("responses", staff.TaskResponses, "responses"),
        ("samples", staff.TaskSamples, "samples"),
        ("attributes", staff.TaskAttributes, "attributes"),
        ("checks", staff.TaskChecks, "checks"),
        ("chats", staff.TaskChats, "task_chats"),
        ("judge", staff.TaskJudge, "judge"),
        ("judgments", staff.TaskJudgments, "judgments"),
        ("assignments", staff.TaskAssignments, "assignments"),
        ("panels", panels.Asking, "task_panels"),
        ("rounds", panels.Rounds, "rounds"),
        ("rounds/<int:assignment_id>", panels.RoundDecide, "round"),
        ("recruitments", recruitment.Ways, "ways"),
        ("recruitments/<int:recruitment_id>", recruitment.RecruitmentDetail, "way"),
        ("recruitments/<int:recruitment_id>/links", recruitment.WayLinks, "way_links"),
        ("recruitments/<int:recruitment_id>/let-in", recruitment.RecruitmentVisit, "way_let_in"),
        ("conversations", conversations.Conversations, "conversations"),
        ("conversations/<int:conversation_id>", conversations.OneConversation, "conversation"),
        ("announcements", conversations.Announcements, "announcements"),
        ("announcements/<int:announcement_id>", conversations.OneAnnouncement, "announcement"),
        ("statements", payments.Statements, "statements"),
        (
            "statements/<int:statement_id>/rows/<int:place>/book",
            payments.StatementBook,
            "statement_book",
        ),
    ),
    *endpoints(
        "tasks/<int:task_id>/conversations/<int:conversation_id>/",
        ("messages", conversations.ConversationMessages, "conversation_messages"),
        ("read", conversations.ConversationRead, "conversation_read"),
        ("report", conversations.ConversationReport, "conversation_report"),
        ("moderate", conversations.ConversationModerate, "conversation_moderate"),
    ),
]
