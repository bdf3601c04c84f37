"""Language models: what they are asked, how they are reached, and every call as a row."""
