"""Which run of a task is official, and how the others stand."""
