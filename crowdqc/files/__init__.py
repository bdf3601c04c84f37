"""CSV, JSON and ZIP as they are read and written safely."""
