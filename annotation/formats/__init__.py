"""Formats in and out: importers, exporters, uploads, and files written in the background."""
