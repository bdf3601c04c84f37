"""Organisations: which projects belong to one, their models, budget and pages."""
