"""Organisations: groups of projects, and the people who belong to them."""
