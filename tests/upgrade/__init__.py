"""Upgrades: migrations that were released, and databases of earlier releases."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
