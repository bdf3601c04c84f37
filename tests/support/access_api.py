"""The API's part of the table of roles and addresses (see test_access.py for the letters)."""

from __future__ import annotations

from typing import Any

STAFF = "CNFOO"
OWN = "CNONN"
SIGNED_IN = "COOOO"
PUBLIC = "OOOOO"
CALL = "CMMMM"  # takes POST only
NO_RUN = "CNFNN"  # no run is finished here

GET: dict[str, str] = {
    "api_schema": PUBLIC, "api_docs": PUBLIC, "api_token": "M", "api_unknown": "NNNNN",
    "api_projects": SIGNED_IN, "api_project": "CNOOO", "api_consent_texts": STAFF,
    "api_staff": STAFF, "api_workers": STAFF, "api_person": CALL, "api_invitations": STAFF,
    "api_invitation": CALL, "api_invitations_mail": CALL, "api_audit": STAFF,
    "api_role_grants": STAFF, "api_role_confirm": CALL, "api_role_decline": CALL,
    "api_corrections": STAFF, "api_correction_approve": CALL, "api_correction_decline": CALL,
    "api_accounts": STAFF, "api_ledger": STAFF, "api_rejections": STAFF,
    "api_rejection_decide": CALL, "api_payments": STAFF, "api_payments_sent": CALL,
    "api_payment_again": CALL, "api_payment_resolve": CALL, "api_files": STAFF, "api_file": STAFF,
    "api_file_content": "CNFNN", "api_panels": STAFF, "api_panel": STAFF,
    "api_panel_members": STAFF, "api_panel_member_end": CALL, "api_hooks": STAFF,
    "api_hook": STAFF, "api_hook_step": CALL, "api_deliveries": STAFF, "api_deliver_again": CALL,
    "api_notices": SIGNED_IN, "api_notices_read": CALL,
    "api_tasks": STAFF, "api_task": STAFF, "api_task_publish": CALL, "api_task_move": CALL,
    "api_items": STAFF, "api_answers": STAFF, "api_system_answers": CALL, "api_judgments": CALL,
    "api_samples": CALL, "api_attributes": CALL, "api_checks": CALL, "api_topics": STAFF,
    "api_responses": CALL, "api_judge": CALL, "api_assignments": STAFF, "api_answer": STAFF,
    "api_export": STAFF, "api_task_panels": STAFF, "api_rounds": STAFF, "api_round": CALL,
    "api_statements": STAFF, "api_statement_book": CALL, "api_ways": STAFF, "api_way": STAFF,
    "api_way_links": CALL, "api_way_let_in": CALL, "api_card": STAFF, "api_worker_data": STAFF,
    "api_domains": STAFF, "api_domain": STAFF, "api_own_card": "CNOFF", "api_own_data": SIGNED_IN,
    "api_open_tasks": SIGNED_IN, "api_claim": CALL, "api_consent": "CNOFF", "api_join": CALL,
    "api_own_assignments": SIGNED_IN, "api_assignment": OWN, "api_question": CALL,
    "api_draft": CALL, "api_submit": CALL, "api_extend": CALL, "api_return": CALL,
    "api_streams": CALL, "api_events": CALL, "api_own_ledger": SIGNED_IN,
    "api_own_rejections": SIGNED_IN, "api_own_consents": SIGNED_IN, "api_own_rounds": SIGNED_IN,
    "api_own_log": OWN, "api_own_reply": CALL, "api_own_logs_erase": CALL,
    "api_runs": STAFF, "api_run": STAFF, "api_run_cancel": CALL, "api_run_calls": STAFF,
    "api_scores_workers": STAFF, "api_scores_systems": STAFF, "api_scores_answers": STAFF,
    "api_task_scores_workers": NO_RUN, "api_task_scores_systems": NO_RUN,
    "api_task_scores_answers": NO_RUN, "api_task_scores_items": NO_RUN, "api_official": NO_RUN,
    "api_scores_items": STAFF, "api_select": CALL, "api_select_preview": CALL,
    "api_models": STAFF, "api_asking": STAFF, "api_ask": CALL, "api_ask_preview": CALL,
    "api_schedule": STAFF, "api_exclusions": STAFF, "api_exclusion_undo": CALL,
    "api_exclusion_effect": CALL, "api_watches": STAFF, "api_watch_notes": STAFF,
    "api_watch_note_settle": CALL, "api_waiting": STAFF, "api_payout_rule": STAFF,
    "api_propose": CALL, "api_propose_preview": CALL, "api_payouts": STAFF, "api_payout": STAFF,
    "api_payout_approve": CALL, "api_payout_send_back": CALL, "api_payout_line_reject": CALL,
}  # fmt: skip

REQUESTER, EITHER, MANAGER = "CNFXF", "CNFXX", "CNFFX"
MINE = "CNXNN"
POST: dict[str, str] = {
    "api_projects": "CXXXX", "api_consent_texts": REQUESTER, "api_invitations": EITHER,
    "api_hooks": REQUESTER, "api_hook_step": REQUESTER, "api_deliver_again": REQUESTER,
    "api_panels": REQUESTER, "api_panel_members": REQUESTER, "api_panel_member_end": REQUESTER,
    "api_files": EITHER, "api_notices_read": "CXXXX", "api_rejection_decide": MANAGER,
    "api_payments_sent": MANAGER, "api_payment_again": MANAGER, "api_payment_resolve": MANAGER,
    "api_tasks": REQUESTER, "api_task_publish": REQUESTER, "api_task_move": REQUESTER,
    "api_items": REQUESTER, "api_answers": REQUESTER, "api_system_answers": REQUESTER,
    "api_judgments": REQUESTER, "api_topics": REQUESTER, "api_responses": REQUESTER,
    "api_judge": REQUESTER, "api_samples": REQUESTER, "api_attributes": REQUESTER,
    "api_checks": REQUESTER, "api_round": REQUESTER, "api_statements": MANAGER,
    "api_statement_book": MANAGER, "api_ledger": MANAGER, "api_invitations_mail": EITHER,
    "api_role_confirm": MANAGER, "api_role_decline": EITHER, "api_correction_approve": MANAGER,
    "api_correction_decline": MANAGER,
    "api_ways": REQUESTER, "api_way_links": REQUESTER, "api_way_let_in": REQUESTER,
    "api_claim": "CNXFF", "api_submit": MINE, "api_extend": MINE,
    "api_return": MINE, "api_streams": MINE, "api_events": MINE, "api_question": MINE,
    "api_consent": "CNXFF", "api_own_reply": MINE, "api_own_logs_erase": "CNXFF",
    "api_runs": EITHER, "api_run_cancel": EITHER, "api_select": REQUESTER,
    "api_official": EITHER, "api_select_preview": EITHER,
    "api_ask": EITHER, "api_ask_preview": EITHER,
    "api_exclusions": REQUESTER, "api_exclusion_undo": REQUESTER,
    "api_exclusion_effect": REQUESTER, "api_watch_note_settle": "CNFNF", "api_propose": EITHER,
    "api_propose_preview": EITHER, "api_payout_approve": MANAGER,
    "api_payout_send_back": EITHER, "api_payout_line_reject": EITHER,
}  # fmt: skip

# The other verbs: (verb, address) -> row.
CHANGE: dict[tuple[str, str], str] = {
    ("patch", "api_project"): REQUESTER, ("delete", "api_person"): EITHER,
    ("delete", "api_invitation"): EITHER, ("patch", "api_task"): REQUESTER,
    ("patch", "api_answer"): EITHER, ("put", "api_task_panels"): REQUESTER,
    ("patch", "api_panel"): REQUESTER, ("patch", "api_hook"): REQUESTER,
    ("delete", "api_hook"): REQUESTER, ("delete", "api_file"): EITHER,
    ("put", "api_draft"): MINE, ("delete", "api_consent"): "CNXFF",
    ("delete", "api_token"): "CXXXX", ("patch", "api_way"): REQUESTER,
    ("put", "api_schedule"): EITHER,
    ("put", "api_payout_rule"): EITHER, ("put", "api_watches"): REQUESTER,
}  # fmt: skip
# Addresses that stand for something else than the usual thing of their kind.
PLACES = {
    "api_exclusion_undo": ("task_id", "study_id"), "api_exclusions": ("task_id", "study_id"),
    "api_exclusion_effect": ("task_id", "study_id"), "api_file": ("file_id", "export_id"),
    "api_file_content": ("file_id", "export_id"), "api_round": ("assignment_id", "submitted_id"),
}  # fmt: skip


def places(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """What an address of the API names instead of the usual."""
    if name not in PLACES:
        return {}
    placeholder, value = PLACES[name]
    return {placeholder: values[value]}
