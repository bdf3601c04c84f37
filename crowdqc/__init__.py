"""The project: settings, the job queue's application and the embedded stack.

Nothing of ours is imported here: the process that starts the others imports this package too.
"""

import gc

# Loading makes hundreds of thousands of objects that stay: looking through them again and again
# for what can go took a fifth of every start.
gc.set_threshold(50_000, 20, 50)
