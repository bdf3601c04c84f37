"""Charts as SVG made on the server: rows of numbers in, safe strings out."""
