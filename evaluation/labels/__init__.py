"""Runs on labels of items: who is reliable, which label each item has, how far people agree."""
