"""The project: settings, the job queue's application and the embedded stack.

Nothing is imported here: the process that starts the others imports this package too.
"""
