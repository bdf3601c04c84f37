"""The collecting side: what people author, answer and are paid for."""
