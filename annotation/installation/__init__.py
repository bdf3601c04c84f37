"""What whoever runs an installation does with its projects and accounts."""
