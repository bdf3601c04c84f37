"""What was collected, as evaluation freezes it: flat rows by kind of answer."""
