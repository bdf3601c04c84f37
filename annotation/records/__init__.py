"""What is kept of every write.

The audit log, replies to repeated requests, locks, and how input is cleaned.
"""
