"""The installation as a whole: its figures for a page and for Prometheus, and what needs a hand."""
