"""Read-only links to what a run says, for people without an account."""
