"""The engine of runs: freeze, fit, store; official runs, schedules, exports and pages of runs."""
