"""Metrics of the processes of one container or unit, on a port of their own.

Loads nothing: what counts is in the modules, and is loaded only where somebody asks for it.
"""
