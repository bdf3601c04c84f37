"""Ways to begin: templates of tasks with example items, and copies of tasks and projects."""
