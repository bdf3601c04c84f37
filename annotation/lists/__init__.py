"""Lists: search, filters, order, columns, saved views and bulk actions, written once for all."""
