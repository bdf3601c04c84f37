"""The job queue: its broker, its queues, its workers, and signs of life."""
