"""A table of labels becomes a task with answers and a run, in one step."""
