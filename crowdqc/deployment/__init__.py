"""What production must not run with."""
