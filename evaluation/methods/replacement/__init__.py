"""May a model do the work of people: tests and estimates from labels of both."""
