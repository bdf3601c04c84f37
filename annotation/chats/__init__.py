"""Conversations of several turns as content: one typed form, its readers, and how it is shown."""
