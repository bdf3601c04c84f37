"""Tests of the pages and the API by which an owner runs the installation."""
