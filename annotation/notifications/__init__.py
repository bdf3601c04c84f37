"""Notices on pages, mail, and webhooks."""
