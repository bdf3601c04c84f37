"""Ratings rescaled by their explanations, and audits of the scores."""
