"""Tests of the embedded stack."""
