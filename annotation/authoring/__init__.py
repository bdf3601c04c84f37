"""Tasks and their versions, texts and questions, and the builder in which they are written."""
