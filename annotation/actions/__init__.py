"""Every write of the collecting side: keyword-only, one transaction, audited, by somebody."""
