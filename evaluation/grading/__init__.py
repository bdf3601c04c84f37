"""Expert grading of answers of systems, and methods held against it."""
