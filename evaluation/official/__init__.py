"""What changes when another run becomes official."""
