"""Ways into a task: what is written and read about them."""
