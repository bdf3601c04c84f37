"""The annotation app: what people author, answer and are paid for."""
