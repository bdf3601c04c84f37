"""Live evaluation: systems whose outputs people compare until the result is precise enough.

Outputs come in over the API, pairs of them are handed out at once, and a periodic job ends it when
the intervals are narrow or the budget is used.
"""
