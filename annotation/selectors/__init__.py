"""Every read of the collecting side."""
