"""Safe reading and writing of CSV, JSON and ZIP; file storages."""
