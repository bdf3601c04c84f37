"""The API of the collecting side; ``frame`` is what every endpoint shares."""
