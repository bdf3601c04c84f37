"""Whether a model may do the work of one of the people, and how many labels it saves."""
