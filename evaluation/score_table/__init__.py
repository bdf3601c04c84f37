"""A table of labels, comparisons, answers or ratings becomes a task with answers and a run."""
