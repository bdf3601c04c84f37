"""Small studies that tests make: judgments, ratings, think-alouds, writing."""
