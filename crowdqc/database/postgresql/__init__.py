"""Django's PostgreSQL backend with a circuit breaker before the pool."""
