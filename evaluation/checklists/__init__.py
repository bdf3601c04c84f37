"""Checklists: made from attributes, and the scores that filled ones give."""
