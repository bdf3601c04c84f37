"""The job queue: broker, queues, workers and heartbeats."""
