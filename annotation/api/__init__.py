"""The API of the annotation app; ``frame`` is what every endpoint shares."""
