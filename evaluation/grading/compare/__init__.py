"""Every method on the same workers: runs that compare them, and their page."""
