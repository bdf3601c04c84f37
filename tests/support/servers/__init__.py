"""Servers that stand in for others: models, a recruitment platform, an identity provider."""
