"""What may be said of single workers, whatever they were asked."""
