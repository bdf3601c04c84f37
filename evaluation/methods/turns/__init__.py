"""Labels of the turns of conversations: units within clusters, and when conversations go wrong."""
