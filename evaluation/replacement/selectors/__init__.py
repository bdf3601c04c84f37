"""What the pages show of a test whether models may replace people."""

from evaluation.replacement.selectors.verdicts import SLUG, method_of, page, shown_run

__all__ = ["SLUG", "method_of", "page", "shown_run"]
