"""Roles that move money: who gave them, who confirmed them, and who is independent of whom."""
