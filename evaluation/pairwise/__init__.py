"""Runs on judgments of pairs: boards, wins, agreement, judges, adaptive collection."""
