"""What a study of a task would reach: planners of the rooms, and the page of a plan."""
