"""Accounts: signing up and in, roles, second factors, sessions, and what is logged of it."""
