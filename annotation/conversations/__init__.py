"""Messages between workers and the people of a project, and announcements to a task's workers."""
