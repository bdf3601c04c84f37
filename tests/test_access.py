"""Who may open what: every address of the application against every role.

The table below is complete by construction: an address that is not in it fails the test.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import render
from django.test import Client
from django.urls import reverse

from annotation.records import views
from crowdqc.web import middleware
from tests.security.proxy.headers import lacks
from tests.support import access_api, factories
from tests.support.access_finished import FINISHED, FINISHED_POST
from tests.support.everything import ROUTES, address, everything
from tests.support.processes import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ROLES = ("anonymous", "outsider", "worker", "requester", "manager", "viewer")
# U: answers 503 while no worker runs, to everybody.
# What a role meets: O opens (2xx or a redirect within the application), L is sent to sign in,
# N not found, F forbidden, M wrong verb, C is told 401.
# A row has the first five; what a viewer meets follows from it and from VIEWED (``row_of``).
STAFF = "LNFOO"
REQUESTER = "LNFOF"  # authoring
MANAGER = "LNFFO"  # deciding about money
POST_ONLY = "M"
NOTHING_YET = "LNFNN"  # no run is finished here, so there is nothing to export
SIGNED_IN = "LOOOO"
NOT_BUILT = "NNNNN"  # tests have no built documentation; tests/test_docs.py serves one
PUBLIC = "OOOOO"
OWN = "LNONN"  # a worker's own
OF_ORGANISATION = "LNNON"  # which the requester owns, and the project is not in

# allauth's names, beside ours for the same addresses. People of these tests have no password, so
# they are never asked to confirm who they are, and no second factor.
ENTERING = "LOOOO"
ACCOUNTS = {
    "account_signup": PUBLIC, "account_login": PUBLIC, "account_logout": POST_ONLY,
    "account_inactive": PUBLIC, "account_start_over": "LLLLL", "mfa_authenticate": ENTERING,
    "mfa_login_webauthn": ENTERING, "account_email_verification_sent": ENTERING,
    "account_change_password": SIGNED_IN, "account_set_password": SIGNED_IN,
    "account_reset_password": PUBLIC, "account_reset_password_done": PUBLIC,
    "account_reset_password_from_key": PUBLIC, "account_reset_password_from_key_done": PUBLIC,
    "account_name": POST_ONLY, "account_theme": POST_ONLY,
    "language": POST_ONLY,
    "account_email": SIGNED_IN, "usersessions_list": SIGNED_IN,
    "account_sessions_end": POST_ONLY, "account_session_end": POST_ONLY,
    "account_reauthenticate": "LFFFF", "mfa_reauthenticate": "LFFFF",
    "mfa_reauthenticate_webauthn": "LFFFF", "mfa_index": SIGNED_IN,
    "mfa_activate_totp": SIGNED_IN, "mfa_deactivate_totp": "LNNNN",
    "mfa_view_recovery_codes": "LNNNN", "mfa_generate_recovery_codes": SIGNED_IN,
    "mfa_list_webauthn": SIGNED_IN, "mfa_add_webauthn": SIGNED_IN,
    "mfa_remove_webauthn": "LNNNN", "mfa_edit_webauthn": "LNNNN",
    "socialaccount_connections": SIGNED_IN, "socialaccount_signup": "LLLLL",
    "socialaccount_login_cancelled": PUBLIC, "socialaccount_login_error": "CCCCC",
    "openid_connect_login": "NNNNN", "openid_connect_callback": "NNNNN",
}  # fmt: skip

GET: dict[str, str] = {
    **access_api.GET,
    # Only the owner of the installation, and with a token (tests/evaluation/operations).
    "operations": "LNNNN", "operations_report": "LNNNN", "operations_retry_all": POST_ONLY,
    "operations_backup": POST_ONLY, "installation_role_confirm": POST_ONLY,
    "operations_failure": POST_ONLY, "metrics": "NNNNN",
    "installation": "LNNNN", "installation_people": "LNNNN", "installation_settings": "LNNNN",
    "installation_audit": "LNNNN", "installation_limits": "LNNNN",
    "installation_person_limits": "LNNNN",
    "installation_growth": "LNNNN",
    "installation_moves": "LNNNN", "installation_archive_part": POST_ONLY,
    "installation_deletion": "LNNNN", "installation_books": "LNNNN",
    "installation_books_file": "LNNNN",
    "healthz": PUBLIC, "readyz": "UUUUU", "signed_in": "COOOO",
    "manual": NOT_BUILT, "manual_page": NOT_BUILT, "script_words": PUBLIC,
    "home": PUBLIC, "signup": PUBLIC, "login": PUBLIC,
    "logout": POST_ONLY, "password_change": SIGNED_IN, "password_reset": PUBLIC,
    "account": SIGNED_IN, "account_token_revoke": POST_ONLY,
    **ACCOUNTS,
    "join": PUBLIC, "project_list": SIGNED_IN,
    "project_new": SIGNED_IN, "work_home": SIGNED_IN, "work_consent": "LNOFF",
    "work_offer": "LNOFF",
    "work_withdraw": POST_ONLY, "work_claim": POST_ONLY, "work_assignment": OWN, "work_item": OWN,
    "work_submit": POST_ONLY, "work_done": OWN, "work_extend": POST_ONLY,
    "work_return": POST_ONLY, "work_draft": POST_ONLY, "work_stream": POST_ONLY,
    "work_events": POST_ONLY, "work_record": SIGNED_IN, "work_record_assignment": OWN,
    "work_rejection_reply": POST_ONLY, "own_logs_erase": POST_ONLY,
    "project_logs_erase": POST_ONLY, "worker_logs_erase": POST_ONLY, "people": STAFF,
    "people_remove": POST_ONLY,
    "invitation_new": STAFF, "invitation_revoke": POST_ONLY, "project_settings": STAFF,
    "project_settings_consent": STAFF, "project_settings_plugins": STAFF,
    "run_estimates": NOTHING_YET,
    "task_list": STAFF, "task_new": REQUESTER, "task": STAFF,
    "task_from_template": POST_ONLY, "task_from_file": POST_ONLY, "project_first": POST_ONLY,
    "task_examples": POST_ONLY, "task_copy": POST_ONLY,
    "project_copy": POST_ONLY, "project_start_hide": POST_ONLY,
    "task_move": POST_ONLY, "task_build": REQUESTER, "task_build_question": POST_ONLY,
    "task_build_add": POST_ONLY, "task_build_remove": POST_ONLY, "task_build_move": POST_ONLY,
    "task_build_text": POST_ONLY, "task_build_text_step": POST_ONLY, "task_preview": STAFF,
    "task_build_asked": POST_ONLY, "task_build_asked_step": POST_ONLY,
    "task_build_texts": POST_ONLY, "task_build_pairs": REQUESTER,
    "task_build_attention": POST_ONLY, "task_precision": STAFF,
    "task_build_rows": POST_ONLY, "task_build_rows_step": POST_ONLY,
    "task_build_topic": POST_ONLY, "task_build_topic_step": POST_ONLY, "task_judge": POST_ONLY,
    "task_build_dimension": POST_ONLY, "task_build_dimension_step": POST_ONLY,
    "task_build_line": POST_ONLY, "task_build_line_step": POST_ONLY,
    "task_build_field": POST_ONLY, "task_build_field_step": POST_ONLY,
    "task_build_known": POST_ONLY, "task_build_media": POST_ONLY, "media_file": "LNNOO",
    "work_recording": POST_ONLY, "recording_file": "LNOOO", "work_transcript": "LNNNN",
    "task_build_rating": POST_ONLY, "task_build_document": POST_ONLY,
    "task_build_document_step": POST_ONLY, "task_rounds": REQUESTER, "task_round": REQUESTER,
    "task_panels": POST_ONLY, "task_feedback": STAFF, "task_quiz": REQUESTER,
    "work_card": "LNOFF", "task_domain": POST_ONLY, "domain_list": STAFF, "domain_board": STAFF,
    "task_pace": POST_ONLY,
    "task_publish": REQUESTER, "task_import_file": REQUESTER, "task_import_bad_rows": REQUESTER,
    "task_import": REQUESTER, "ledger": STAFF, "ledger_export": STAFF, "rejection_list": STAFF,
    "rejection_decide": POST_ONLY, "answer_counts": POST_ONLY, "results": STAFF,
    "task_results": STAFF, "task_results_systems": STAFF, "task_results_questions": STAFF,
    "point_judges": STAFF,
    "task_results_question": STAFF, "task_results_export": NOTHING_YET,
    "task_results_convergence": STAFF, "pair_results": STAFF, "pair_live": STAFF,
    "pair_wins": STAFF, "pair_list": STAFF, "pair": STAFF, "pair_workers": STAFF,
    "pair_worker": STAFF, "pair_export": NOTHING_YET, "run_list": STAFF, "run": STAFF,
    "run_progress": STAFF, "run_official": NOTHING_YET,
    "run_cancel": POST_ONLY, "run_start": STAFF, "run_schedule": STAFF, "project": STAFF,
    "task_items": STAFF, "task_item": STAFF, "task_answers": STAFF, "project_search": STAFF,
    "review": STAFF, "review_answers": STAFF, "payout_new": STAFF, "payout_list": STAFF,
    "payout": STAFF, "payout_approve": POST_ONLY, "payout_send_back": POST_ONLY,
    "payout_line_reject": POST_ONLY, "payout_export": STAFF, "worker_card": STAFF,
    "payout_rule": STAFF, "ledger_correct": POST_ONLY, "payment_by_hand": STAFF,
    "task_figures": STAFF,
    "payment_by_hand_export": STAFF, "payment_by_hand_done": STAFF,
    "payment_details": OWN, "payment_details_remove": POST_ONLY,
    "upload_part": POST_ONLY,
    "payment_details_remind": POST_ONLY,
    "recruitment_list": STAFF, "recruitment_new": REQUESTER, "recruitment": STAFF,
    "recruitment_edit": REQUESTER, "recruitment_links": POST_ONLY,
    "recruitment_let_in": POST_ONLY, "payment_list": STAFF, "payment_send": POST_ONLY,
    "payment_resolve": POST_ONLY, "payment_export": MANAGER, "entry": "FFFOO",
    "entry_leave": "LNNNN", "platform_hook": POST_ONLY, "statement_list": STAFF,
    "month_statement": STAFF, "month_export": STAFF, "person_month": STAFF,
    "person_month_export": STAFF,
    "statement": STAFF, "statement_book": POST_ONLY, "statement_book_matching": POST_ONLY,
    "task_export": STAFF, "task_table": STAFF, "task_columns": STAFF,
    "pair_agreement": STAFF, "pair_panel": POST_ONLY, "pair_order": STAFF, "pair_grades": STAFF,
    "pair_judges": STAFF, "pair_published": NOTHING_YET,
    "pair_collect": POST_ONLY,
    "task_exclude": "LNFOF", "task_exclusion_undo": POST_ONLY, "panel_list": STAFF,
    "panel_new": POST_ONLY, "panel": STAFF, "panel_rename": POST_ONLY, "panel_admit": POST_ONLY,
    "panel_end": POST_ONLY, "panel_evaluate": POST_ONLY, "panel_watch": POST_ONLY,
    "panel_note": POST_ONLY, "panel_choose": "LNFNF", "pair_adaptive": STAFF,
    "rating_results": STAFF,
    "score_table": SIGNED_IN, "score_table_example": SIGNED_IN, "score_table_in": REQUESTER,
    "score_table_file": "LNNON", "score_table_left_out": "LNNON",
    "label_results": STAFF, "label_decide": POST_ONLY, "label_revoke": POST_ONLY,
    "label_worker": NOTHING_YET, "label_items": STAFF,
    "turn_results": NOTHING_YET, "turn_export": NOTHING_YET,
    "label_agreement": STAFF, "label_classes": STAFF, "label_compare": STAFF,
    "task_plan": STAFF, "label_export": NOTHING_YET, "replacement": STAFF, "live_evaluation": STAFF,
    "replacement_ask": NOTHING_YET, "replacement_judges": NOTHING_YET,
    "replacement_export": NOTHING_YET,
    "writing_results": STAFF, "writing_export": NOTHING_YET,
    "replay": STAFF, "replay_data": STAFF, "work_replay": OWN, "work_replay_data": OWN,
    "text_compare": STAFF, "aqer_joint": STAFF,
    "study": STAFF, "study_start": POST_ONLY, "grading": STAFF, "grading_mark": NOTHING_YET,
    "grading_settle": POST_ONLY, "grading_end": POST_ONLY, "grading_keys": POST_ONLY,
    "organisation_list": SIGNED_IN, "organisation": OF_ORGANISATION,
    "organisation_models_endpoint_new": OF_ORGANISATION,
    "organisation_models_endpoint": OF_ORGANISATION,
    "organisation_models_endpoint_archive": POST_ONLY,
    "organisation_models_model_new": OF_ORGANISATION,
    "organisation_models_names": OF_ORGANISATION, "organisation_models_model": OF_ORGANISATION,
    "organisation_models_model_probe": POST_ONLY,
    "organisation_models_model_found": OF_ORGANISATION,
    "organisation_models_model_archive": POST_ONLY,
    "models": STAFF, "models_prompts": STAFF, "models_calls": STAFF, "models_call": STAFF,
    "models_endpoint_new": REQUESTER, "models_endpoint": REQUESTER, "models_model_new": REQUESTER,
    "models_model": REQUESTER, "models_endpoint_archive": POST_ONLY, "models_names": REQUESTER,
    "models_model_found": STAFF, "models_prompt": STAFF, "models_prompt_new": REQUESTER,
    "models_prompt_edit": REQUESTER, "models_prompt_try": POST_ONLY,
    "models_model_probe": POST_ONLY, "models_model_archive": POST_ONLY, "task_models": STAFF,
    "task_models_live": STAFF, "task_ask": STAFF, "task_ask_preview": POST_ONLY,
    "rescaling": STAFF, "rescaling_scores": REQUESTER, "rescaling_run": STAFF,
    "rescaling_tuning": "LNFNF",
    "audit_list": STAFF, "audit": STAFF, "audit_judge": MANAGER, "audit_close": POST_ONLY,
    "checklist_results": STAFF, "checklist_scores": POST_ONLY,
    "think_aloud_results": STAFF, "checklist_new": REQUESTER, "set_comparisons": STAFF,
    "set_comparison_new": STAFF, "set_comparison": "LNFON", "checklist": STAFF,
    "checklist_live": STAFF, "checklist_take": POST_ONLY, "checklist_freeze": POST_ONLY,
    "checklist_stage": REQUESTER, "checklist_ask": REQUESTER, "checklist_version": STAFF,
    "checklist_make_task": POST_ONLY,
    "files_list": STAFF, "files_now": STAFF, "files_download": NOTHING_YET,
    "files_manifest": NOTHING_YET, "files_remove": POST_ONLY, "run_export": NOTHING_YET,
    "run_bundle": POST_ONLY, "run_report": POST_ONLY, "run_share": NOTHING_YET,
    "run_stop_sharing": POST_ONLY, "run_move_board": POST_ONLY,
    "shared_results": "NNNNN", "public_board": "NNNNN", "public_board_file": "NNNNN",
    "role_confirm": POST_ONLY, "role_decline": POST_ONLY, "correction_approve": POST_ONLY,
    "correction_decline": POST_ONLY,
    "audit_log": STAFF, "audit_log_export": STAFF, "project_settings_kept": POST_ONLY,
    "worker_data_erase": STAFF, "worker_data": POST_ONLY, "own_data": SIGNED_IN,
    "own_data_erase": "LNOFF", "account_log": SIGNED_IN, "account_close": POST_ONLY,
    "work_earnings": SIGNED_IN, "work_messages": SIGNED_IN, "work_conversation": OWN,
    "work_message_report": POST_ONLY, "work_ask": OWN, "message_list": STAFF,
    "conversation": STAFF, "conversation_report": POST_ONLY, "conversation_moderate": POST_ONLY,
    "message_new": STAFF, "announcements": STAFF, "announcement_remove": POST_ONLY,
    "notice_list": SIGNED_IN, "notice": OWN, "notice_read_all": POST_ONLY,
    "notice_mail": POST_ONLY, "notice_kinds": POST_ONLY,
    "notice_stop": PUBLIC, "hook_list": STAFF, "hook_new": REQUESTER,
    "hook": STAFF, "hook_step": POST_ONLY, "hook_remove": POST_ONLY, "hook_redeliver": POST_ONLY,
    "stepup_resume": SIGNED_IN,
    "traces_receive": POST_ONLY, "traces_receive_langfuse": POST_ONLY,
    "traces_receive_scores": POST_ONLY, "trace_sources": STAFF, "trace_source_new": REQUESTER,
    "trace_source": STAFF, "trace_list": STAFF, "trace": STAFF,
    "project_settings_security": STAFF, "installation_security": "LNNNN",
    "project_settings_factor": POST_ONLY,
}  # fmt: skip

# The same for POST with an empty body; X: let in, and refused for what it says (4xx but not
# 401, 403 or 404) or done. A manager's money buttons are closed to others.
WRITE_STAFF, WRITE_REQUESTER, WRITE_MANAGER = "LNFXX", "LNFXF", "LNFFX"
WRITE_ORGANISATION = "LNNXN"
POST: dict[str, str] = {
    # By the token of a source alone (tests/annotation/traces).
    "traces_receive": "CCCCC", "traces_receive_langfuse": "CCCCC",
    "traces_receive_scores": "CCCCC", "trace_list": WRITE_STAFF,
    "trace_source_new": WRITE_REQUESTER, "trace_source": WRITE_REQUESTER,
    **access_api.POST,
    "task_build_field": WRITE_REQUESTER, "task_build_field_step": WRITE_REQUESTER,
    "task_build_known": WRITE_REQUESTER, "task_build_media": WRITE_REQUESTER,
    "task_build_rating": WRITE_REQUESTER, "task_build_document": WRITE_REQUESTER,
    "task_build_document_step": WRITE_REQUESTER, "task_round": WRITE_REQUESTER,
    "task_panels": WRITE_REQUESTER, "task_quiz": WRITE_REQUESTER,
    "hook_new": WRITE_REQUESTER, "hook": WRITE_REQUESTER, "hook_step": WRITE_REQUESTER,
    "hook_remove": WRITE_REQUESTER, "hook_redeliver": WRITE_REQUESTER,
    "work_conversation": "LNXNN", "work_message_report": "LNXNN", "work_ask": "LNXNN",
    "conversation": WRITE_STAFF, "conversation_report": WRITE_STAFF,
    "conversation_moderate": WRITE_MANAGER, "message_new": WRITE_STAFF,
    "announcements": WRITE_STAFF, "announcement_remove": WRITE_STAFF,
    "notice_read_all": "LXXXX", "notice_mail": "LXXXX", "notice_kinds": "LXXXX",
    "notice_stop": "XXXXX",
    "account": "LXXXX", "account_token_revoke": "LNXNN",
    "language": "XXXXX",
    "account_name": "LXXXX", "account_theme": "LXXXX", "account_email": "LXXXX",
    "project_first": "LXXXX",
    "account_sessions_end": "LXXXX",
    "account_session_end": "LNNNN",
    "people": WRITE_STAFF, "task_list": WRITE_STAFF, "run_list": WRITE_STAFF,
    "payout_list": WRITE_STAFF, "task_items": WRITE_STAFF, "task_answers": WRITE_STAFF,
    "people_remove": WRITE_STAFF, "invitation_new": WRITE_STAFF,
    "invitation_revoke": WRITE_STAFF, "role_confirm": WRITE_MANAGER, "role_decline": WRITE_STAFF,
    "correction_approve": WRITE_MANAGER, "correction_decline": WRITE_MANAGER,
    "project_settings": WRITE_REQUESTER, "project_settings_consent": WRITE_REQUESTER,
    "project_settings_plugins": WRITE_REQUESTER,
    "task_from_template": WRITE_REQUESTER, "task_from_file": WRITE_REQUESTER,
    "task_examples": WRITE_REQUESTER,
    "task_copy": WRITE_REQUESTER, "project_copy": WRITE_REQUESTER,
    "project_start_hide": WRITE_REQUESTER,
    "task_new": WRITE_REQUESTER, "task_move": WRITE_REQUESTER, "task_domain": WRITE_REQUESTER,
    "task_pace": WRITE_REQUESTER,
    "task_build": WRITE_REQUESTER,
    "task_build_question": WRITE_REQUESTER, "task_build_add": WRITE_REQUESTER,
    "task_build_remove": WRITE_REQUESTER, "task_build_move": WRITE_REQUESTER,
    "task_build_text": WRITE_REQUESTER, "task_build_text_step": WRITE_REQUESTER,
    "task_build_asked": WRITE_REQUESTER, "task_build_asked_step": WRITE_REQUESTER,
    "task_build_texts": WRITE_REQUESTER, "task_build_pairs": WRITE_REQUESTER,
    "task_build_attention": WRITE_REQUESTER, "task_build_rows": WRITE_REQUESTER,
    "task_build_rows_step": WRITE_REQUESTER, "task_build_topic": WRITE_REQUESTER,
    "task_build_topic_step": WRITE_REQUESTER, "task_judge": WRITE_REQUESTER,
    "task_build_dimension": WRITE_REQUESTER, "task_build_dimension_step": WRITE_REQUESTER,
    "task_build_line": WRITE_REQUESTER, "task_build_line_step": WRITE_REQUESTER,
    "task_publish": WRITE_REQUESTER, "task_import": WRITE_REQUESTER,
    "task_import_file": WRITE_REQUESTER, "rejection_decide": WRITE_MANAGER,
    "upload_part": "LNNXN",
    "score_table_in": WRITE_REQUESTER,
    "files_list": WRITE_STAFF, "files_remove": WRITE_STAFF, "run_bundle": WRITE_STAFF,
    "run_report": WRITE_STAFF,
    "answer_counts": WRITE_STAFF, "run_cancel": WRITE_STAFF,
    "run_official": NOTHING_YET, "run_start": WRITE_STAFF,
    "run_share": "LNFXF", "run_stop_sharing": NOTHING_YET,
    "run_move_board": "LNFXF",
    "run_schedule": WRITE_STAFF, "pair_panel": WRITE_REQUESTER,
    "task_exclude": WRITE_REQUESTER,
    "pair_collect": WRITE_REQUESTER,
    "task_exclusion_undo": WRITE_REQUESTER, "panel_new": WRITE_REQUESTER,
    "panel_rename": WRITE_REQUESTER, "panel_admit": WRITE_REQUESTER,
    "panel_end": WRITE_REQUESTER, "panel_evaluate": WRITE_REQUESTER,
    "panel_watch": WRITE_REQUESTER, "panel_note": "LNFNF", "panel_choose": "LNFNF",
    "pair_adaptive": WRITE_REQUESTER, "replacement_ask": "LNFNF",
    "live_evaluation": WRITE_REQUESTER,
    "study_start": "LNFNF", "grading": WRITE_REQUESTER, "grading_mark": NOTHING_YET,
    "grading_settle": NOTHING_YET, "grading_end": "LNFNF", "grading_keys": NOTHING_YET,
    "organisation_list": "LNNNN", "organisation": "LNNNN",
    **dict.fromkeys(
        (
            f"organisation_models_{name}"
            for name in (
                "endpoint_new", "endpoint", "endpoint_archive", "model_new", "names", "model",
                "model_probe", "model_archive",
            )
        ),
        WRITE_ORGANISATION,
    ),
    "models_endpoint_new": WRITE_REQUESTER, "models_endpoint": WRITE_REQUESTER,
    "models_model_new": WRITE_REQUESTER, "models_model": WRITE_REQUESTER,
    "models_endpoint_archive": WRITE_REQUESTER, "models_names": WRITE_REQUESTER,
    "models_model_probe": WRITE_REQUESTER, "models_model_archive": WRITE_REQUESTER,
    "models_prompt_new": WRITE_REQUESTER, "models_prompt_edit": WRITE_REQUESTER,
    "models_prompt_try": NOTHING_YET,
    "task_ask": WRITE_STAFF, "task_ask_preview": WRITE_STAFF,
    "rescaling_scores": WRITE_REQUESTER, "rescaling_run": WRITE_STAFF,
    "audit_list": WRITE_REQUESTER, "audit_judge": WRITE_MANAGER, "audit_close": WRITE_STAFF,
    "checklist_new": WRITE_REQUESTER, "set_comparison_new": WRITE_STAFF,
    "set_comparison": "LNFXN", "checklist_take": WRITE_REQUESTER,
    "checklist_freeze": WRITE_REQUESTER, "checklist_stage": WRITE_REQUESTER,
    "checklist_ask": WRITE_REQUESTER, "checklist_make_task": WRITE_REQUESTER,
    "payout_new": WRITE_STAFF, "payout_approve": WRITE_MANAGER,
    "payout_rule": WRITE_STAFF, "ledger_correct": WRITE_MANAGER,
    "recruitment_new": WRITE_REQUESTER, "recruitment_edit": WRITE_REQUESTER,
    "recruitment_links": WRITE_REQUESTER, "recruitment_let_in": WRITE_REQUESTER,
    "payment_send": WRITE_MANAGER, "payment_resolve": WRITE_MANAGER, "platform_hook": "NNNNN",
    "payment_details": "LNXNN", "payment_details_remove": "LNONN",
    "payment_details_remind": WRITE_MANAGER,
    "payment_by_hand_done": WRITE_MANAGER, "statement_list": WRITE_MANAGER,
    "statement_book": WRITE_MANAGER, "statement_book_matching": "LNFFO",
    "payout_send_back": WRITE_STAFF, "payout_line_reject": WRITE_STAFF,
    "project_logs_erase": WRITE_REQUESTER, "worker_logs_erase": WRITE_STAFF,
    "own_logs_erase": "LNXFF", "project_settings_kept": WRITE_REQUESTER,
    "worker_data_erase": WRITE_STAFF, "worker_data": WRITE_STAFF, "own_data_erase": "LNXFF",
    "work_claim": "LNXFF", "work_withdraw": "LNXFF", "work_return": "LNXNN",
    "work_extend": "LNXNN", "work_draft": "LNXNN", "work_stream": "LNXNN",
    "work_recording": "LNXNN",
    "work_events": "LNXNN", "work_submit": "LNXNN", "work_rejection_reply": "LNXNN",
    "label_decide": WRITE_STAFF, "label_revoke": WRITE_STAFF,
    "checklist_scores": WRITE_REQUESTER, "project_settings_factor": "LNFXF",
    "operations_backup": "LNNNN", "operations_retry_all": "LNNNN", "operations_failure": "LNNNN",
    "installation": "LNNNN", "installation_people": "LNNNN", "installation_settings": "LNNNN",
    "installation_limits": "LNNNN", "installation_person_limits": "LNNNN",
    "installation_deletion": "LNNNN", "installation_moves": "LNNNN",
    "installation_archive_part": "LNNNN", "installation_role_confirm": "LNNNN",
}  # fmt: skip


# What a viewer reads: tasks, items, results and exports. Pages of a finished run are in FINISHED.
VIEWED = {
    "project", "task_list", "task", "task_preview", "task_items", "task_item", "task_answers",
    "task_table", "task_columns",
    "task_export", "media_file", "run_list", "run", "run_progress", "results", "task_results",
    "task_results_systems", "task_results_questions", "task_results_question",
    "task_results_convergence", "pair_results", "pair_live", "pair_wins", "pair_list", "pair",
    "pair_workers", "pair_worker", "pair_agreement", "pair_order", "pair_grades", "rating_results",
    "label_results", "label_items", "label_agreement", "label_classes", "label_compare",
    "writing_results", "checklist_results", "api_project", "api_tasks", "api_task", "api_items",
    "api_answers", "api_answer", "api_export", "api_methods", "api_runs", "api_run",
    "api_project_run", "api_project_runs", "api_imports",
    "api_scores_workers", "api_scores_systems", "api_scores_answers", "api_scores_items",
    "api_scores_labels",
}  # fmt: skip
# The same of pages that find nothing here: let in, and there is no finished run.
VIEWED_LATER = {
    "turn_results", "turn_export",
    "task_results_export", "label_worker", "label_export", "pair_export", "writing_export",
    "run_export", "api_task_scores_workers", "api_task_scores_systems", "api_task_scores_answers",
    "api_task_scores_items", "api_task_scores_labels",
}  # fmt: skip


def row_of(name: str, row: str, viewed: frozenset[str] | set[str] = frozenset()) -> str:
    """A row of a table with what a viewer meets: as staff where they may read, else as a worker
    without work."""
    row *= 5 if len(row) == 1 else 1
    outsider, worker, requester = row[1:4]
    if name in viewed:
        return row + requester
    return row + ("F" if "F" in (worker, requester) else outsider)


def met(response: Any) -> str:
    """What a response means, as a letter of the table."""
    status, where = response.status_code, response.headers.get("Location", "")
    if status in (301, 302):
        return "L" if "/login/" in where else "O"
    named = {401: "C", 403: "F", 404: "N", 405: "M", 503: "U"}
    if status in named:
        return named[status]
    return "O" if status < 400 else "X" if status < 500 else str(status)


def fits(seen: str, wanted: str) -> bool:
    return seen == wanted or (wanted == "X" and seen in "OX")


@pytest.fixture
def addresses() -> tuple[dict[str, Any], dict[str, Client]]:
    """Values for every placeholder, and a client a role."""
    return everything()


@pytest.fixture(autouse=True)
def _refusals_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that refuses is drawn once for each person: it is the same a thousand times."""
    drawn = set()

    def once(request: Any, template: str, *context: Any, status: int = 200) -> HttpResponse:
        kind = (template, status, getattr(request, "user", None))
        if status < 400 or kind not in drawn:
            drawn.add(kind)
            return render(request, template, *context, status=status)
        return HttpResponse(status=status)

    for where in (middleware, views):
        monkeypatch.setattr(where, "render", once)


def test_every_address_is_in_the_table() -> None:
    assert set(ROUTES) == set(GET)


def test_each_role_opens_what_it_may_and_nothing_else(
    addresses: tuple[dict[str, Any], dict[str, Client]],
) -> None:
    values, clients = addresses
    wrong = []
    for name, row in GET.items():
        for role, wanted in zip(ROLES, row_of(name, row, VIEWED | VIEWED_LATER), strict=True):
            response = clients[role].get(address(name, values))
            seen = met(response)
            wrong += [f"GET {name} as {role}: {text}" for text in lacks(response)]
            # A page that only takes POST may turn people away before it looks at the verb.
            if seen != wanted and not (wanted == "M" and seen in "LNFC"):
                wrong.append(f"GET {name} as {role}: {seen} ({response.status_code}), not {wanted}")
    assert not wrong, "\n".join(wrong)


def test_each_role_writes_where_it_may_and_nowhere_else(
    addresses: tuple[dict[str, Any], dict[str, Client]],
) -> None:
    values, clients = addresses
    wrong = []
    for name, row in POST.items():
        for role, wanted in zip(ROLES, row_of(name, row), strict=True):
            point = transaction.savepoint()  # each request meets the same world
            key = {"Idempotency-Key": f"{name} {role}"}
            response = clients[role].post(address(name, values), headers=key)
            transaction.savepoint_rollback(point)
            if not fits(met(response), wanted):
                wrong.append(f"POST {name} as {role}: {response.status_code}, not {wanted}")
    assert not wrong, "\n".join(wrong)


def test_every_address_that_takes_posts_is_in_the_second_table() -> None:
    """Addresses that are not about a project or an assignment are named here instead."""
    elsewhere = {"account_close", "logout", "account_logout", "api_token", "api_draft",
                 "api_join", "api_person", "api_invitation", "api_announcement",
                 "socialaccount_login_error"}  # fmt: skip
    taken = {name for name, row in GET.items() if set(row) <= set("MC")} - elsewhere
    assert taken <= set(POST)


# -- what opens to nobody in the tables above ------------------------------------------------------

# Of the owner of the installation, who is none of the roles.
OWNERS = (
    "operations", "operations_report", "installation_security", "installation",
    "installation_people", "installation_settings", "installation_audit", "installation_growth",
    "installation_moves",
)  # fmt: skip
# Addresses that open to nobody here: the test that opens them, or why nothing does.
OPENED_ELSEWHERE = {
    "turn_results": "test_run_finds_where_conversations_go_wrong",
    "turn_export": "test_run_finds_where_conversations_go_wrong",
    "api_token": "test_a_token_says_what_it_may_do_and_a_session_has_none",
    "run_estimates":
        "test_a_method_is_offered_where_it_is_enabled_and_its_run_outlives_the_plugin",
    "installation_limits": "test_owner_gives_a_project_other_limits",
    "installation_person_limits": "test_owner_gives_a_person_other_limits",
    **dict.fromkeys(
        ("installation_deletion", "installation_books", "installation_books_file"),
        "test_owner_deletes_a_project_on_its_page_and_reads_its_books",
    ),
    **dict.fromkeys(
        ("api_installation_deletion", "api_installation_books"),
        "test_owner_deletes_a_project_by_a_program_and_a_command",
    ),
    **dict.fromkeys(
        (f"api_installation_organisation{name}" for name in ("s", "", "_members")),
        "test_owner_of_the_installation_runs_organisations_by_a_program",
    ),
    **dict.fromkeys(
        (f"api_installation_{name}" for name in ("state", "projects", "people", "quotas", "audit")),
        "test_owner_reads_the_installation_by_a_token_with_its_scope",
    ),
    "api_installation_project_quotas": "test_owner_changes_quotas_by_a_program",
    "api_installation_person_quotas": "test_owner_changes_quotas_by_a_program",
    "api_installation_retention": "test_owner_sets_retention_by_a_program_and_a_command",
    "api_installation_growth": "test_owner_sets_retention_by_a_program_and_a_command",
    "api_unknown": "no address", "account_start_over": "leads to the sign-in alone",
    "metrics": "test_nobody_reads_metrics_without_the_token",
    "readyz": "test_ready_with_a_fresh_heartbeat",
    "manual": "test_the_app_serves_what_was_built_and_links_to_it",
    "manual_page": "test_the_app_serves_what_was_built_and_links_to_it",
    "account_reauthenticate":
        "test_after_a_while_the_password_is_asked_again_and_what_was_typed_is_kept",
    "mfa_reauthenticate": "test_a_second_factor_that_was_not_shown_in_this_session_is_asked_for",
    "mfa_deactivate_totp": "test_a_recovery_code_is_enough_and_the_first_factor_needs_the_password",
    "mfa_view_recovery_codes":
        "test_a_password_changes_no_second_factor_of_an_account_that_has_one",
    "mfa_reauthenticate_webauthn": "asks the device for a signature",
    "mfa_remove_webauthn": "test_a_passkey_is_its_owners_alone",
    "mfa_edit_webauthn": "test_a_passkey_is_its_owners_alone",
    "socialaccount_signup":
        "test_a_closed_installation_takes_nobody_new_from_the_provider",
    "openid_connect_login": "test_somebody_comes_in_by_single_sign_on",
    "openid_connect_callback": "test_somebody_comes_in_by_single_sign_on",
    "entry_leave": "test_whoever_leaves_frees_their_slots",
    "pair_published":
        "test_printed_figures_stand_beside_measured_ones_with_the_reason_where_they_differ",
    "rescaling_tuning":
        "test_the_tuning_file_has_each_prompt_and_its_score_once_without_doubted_ones",
    "writing_export": "test_a_run_leaves_as_files_with_every_figure_and_signal",
    "grading_mark": "test_a_grader_sees_neither_author_nor_score_nor_the_other_mark",
    "work_transcript": "test_only_a_confirmed_transcript_is_used_as_the_words_of_a_person",
}  # fmt: skip
POSTED_ELSEWHERE = {
    "traces_receive": "test_an_application_sends_spans_with_its_token_and_nothing_else",
    "traces_receive_langfuse": "test_langfuse_clients_send_with_the_token_as_password",
    "traces_receive_scores": "test_scores_of_langfuse_clients_are_kept_by_name",
    "account_session_end": "test_one_device_or_all_others_are_signed_out",
    "platform_hook": "test_a_returned_submission_frees_its_slots_once",
    "panel_note": "test_the_preview_follows_the_rule_and_the_button_lets_in",
    "api_watch_note_settle": "test_a_program_settles_a_note_of_its_own_panel_once",
    "study_start": "test_a_requester_grades_and_computes_in_the_browser",
    "grading_mark": "test_a_grader_sees_neither_author_nor_score_nor_the_other_mark",
    "grading_settle": "test_a_requester_grades_and_computes_in_the_browser",
    "grading_end": "test_a_requester_grades_and_computes_in_the_browser",
    "grading_keys": "test_answers_are_held_against_the_right_answers_that_graders_agreed_on",
    "models_prompt_try":
        "test_a_prompt_written_in_the_browser_is_previewed_tried_and_run_as_it_was_shown",
    "installation": "test_owner_transfers_a_project_after_a_confirmation",
    "installation_people": "test_owner_closes_and_reopens_an_account",
    "installation_settings": "test_owner_switches_read_only_and_back",
    **dict.fromkeys(
        ("installation_moves", "installation_archive_part"),
        "test_owner_moves_a_project_by_pages",
    ),
    "installation_limits": "test_owner_gives_a_project_other_limits",
    "installation_person_limits": "test_owner_gives_a_person_other_limits",
    "installation_deletion": "test_owner_deletes_a_project_on_its_page_and_reads_its_books",
    **dict.fromkeys(
        ("api_installation_deletion", "api_installation_deletion_cancel"),
        "test_owner_deletes_a_project_by_a_program_and_a_command",
    ),
    **dict.fromkeys(
        (
            f"api_installation_{name}"
            for name in (
                "read_only", "writable", "broadcast", "remove_demo", "transfer", "archive",
                "reopen", "close", "reopen_account", "reset_factor", "merge",
            )
        ),
        "test_owner_acts_by_a_program_as_on_the_pages",
    ),
    "organisation_list": "test_head_of_a_lab_runs_it_on_one_page",
    "organisation": "test_head_of_a_lab_runs_it_on_one_page",
    **dict.fromkeys(
        (
            f"api_installation_organisation{name}"
            for name in ("s", "_members", "_projects", "_close")
        ),
        "test_owner_of_the_installation_runs_organisations_by_a_program",
    ),
    "installation_role_confirm":
        "test_an_owner_of_the_installation_confirms_a_manager_where_pages_name_it",
    "operations_backup": "test_the_owner_asks_for_a_backup_which_a_job_of_its_own_queue_makes",
    "operations_retry_all": "test_each_kind_of_failure_is_listed_and_can_be_done_again",
    "operations_failure": "test_each_kind_of_failure_is_listed_and_can_be_done_again",
}  # fmt: skip


def test_every_address_opens_to_somebody_in_a_test() -> None:
    shut = {name for name, row in GET.items() if "O" not in row and not set(row) <= set("CM")}
    assert shut - FINISHED.keys() - set(OWNERS) == OPENED_ELSEWHERE.keys()
    shut = {name for name, row in POST.items() if not set("OX") & set(row)}
    assert shut - FINISHED_POST.keys() == POSTED_ELSEWHERE.keys()
    there: dict[str, str] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        there |= dict.fromkeys(re.findall(r"^def (test_\w+)", text, re.MULTILINE), text)
    # The file of the named test asks for the address, by its name or by how its path ends.
    wrong = [
        (name, test)
        for name, test in (*OPENED_ELSEWHERE.items(), *POSTED_ELSEWHERE.items())
        if test.startswith("test_")
        and f'"{name}"' not in there.get(test, "")
        and _last_words(ROUTES[name]) not in there.get(test, "")
    ]
    assert not wrong


def _last_words(route: str) -> str:
    """The last part of a path that stands in it as it is."""
    return [part.strip("/") for part in re.split(r"<[^>]+>", route) if part.strip("/")][-1]


def test_the_owner_of_the_installation_opens_its_pages_and_nobody_else() -> None:
    project = factories.make_project()
    people = (
        factories.make_user(),
        factories.make_worker(project).user,
        project.owner,
        factories.make_member(project).user,
        factories.make_user(is_superuser=True, is_staff=True),
    )
    for name in OWNERS:
        seen = met(Client().get(f"/{ROUTES[name]}"))
        for person in people:
            client = Client()
            assert person is not None
            client.force_login(person)
            seen += met(client.get(f"/{ROUTES[name]}"))
        assert seen == f"{GET[name]}O", name


def test_a_passkey_is_its_owners_alone() -> None:
    mine, other = factories.make_user(), factories.make_user()
    key = Authenticator.objects.create(
        user=mine, type=Authenticator.Type.WEBAUTHN, data={"name": "Key", "credential": {}}
    )
    for name in ("mfa_remove_webauthn", "mfa_edit_webauthn"):
        seen = ""
        for user in (None, other, mine):
            client = Client()
            if user:
                client.force_login(user)
            seen += met(client.get(reverse(name, args=[key.pk])))
        assert seen == "LNO", name
