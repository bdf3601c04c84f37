"""Erasing what people wrote and what others call them."""
