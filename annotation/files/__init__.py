"""Files as tables, images and sound: read within limits and written in pieces."""
