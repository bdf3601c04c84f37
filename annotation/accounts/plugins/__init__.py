"""Plug-ins that a project uses, of those that are loaded (``crowdqc.plugins``)."""
