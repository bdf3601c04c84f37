"""Addresses of the pages and endpoints of the judging side."""
