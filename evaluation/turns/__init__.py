"""Labels of turns and tool calls: agreement, workers, and where conversations go wrong."""
