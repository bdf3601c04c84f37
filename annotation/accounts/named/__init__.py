"""People and systems as files name them."""
