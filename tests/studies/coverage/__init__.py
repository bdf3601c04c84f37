"""How often every interval holds the truth with crowds as they really are.

``python -m tests.studies.coverage [simulations] [--only WORDS] [--json FILE]`` simulates each
method with each design (``crowds.py``, ``cases.py``) and measures coverage with its Monte Carlo
error, width, refusals, false certainty a page, and power. ``docs/methods/coverage.json`` keeps what
was measured, and the documentation shows it (``table.py``).
"""
