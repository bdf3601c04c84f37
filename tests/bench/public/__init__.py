"""What strangers open without an account."""
