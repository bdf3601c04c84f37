"""How long rows are kept, what deletes the old ones, and what a year of growth costs."""
