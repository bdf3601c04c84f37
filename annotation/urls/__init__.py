"""Addresses of the pages and endpoints of the collecting side."""
