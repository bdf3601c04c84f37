"""Readers of conversations: raw JSON values of many formats into ``Chat``."""
