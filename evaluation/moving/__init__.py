"""One project as an archive: written, read years later, and taken in by another installation."""
