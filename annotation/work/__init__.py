"""Working: leases, drafts, answers, the interaction log, visits, and what evaluation may freeze."""
