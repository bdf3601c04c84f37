"""Files as tables, read within limits and written in pieces; no format is known here."""
