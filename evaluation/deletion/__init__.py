"""Delete a project: everything but its books goes, in parts, and can be taken up where it was."""
