"""PostgreSQL as Django speaks to it, with a circuit breaker before a web process's pool."""
