"""What a bundle holds of each kind of run: a module a kind of data, and one registry."""
