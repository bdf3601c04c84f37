"""The items of a task and their answers as lists, and all that is known of one item."""
