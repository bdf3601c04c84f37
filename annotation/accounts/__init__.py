"""People.

Accounts, proof of who acts, projects and their members, roles, invitations and tokens.
"""
