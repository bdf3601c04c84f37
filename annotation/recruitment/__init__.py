"""Ways into a task from elsewhere, and the platforms that people come from."""
