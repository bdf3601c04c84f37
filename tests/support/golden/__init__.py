"""A record of everything that the product says, to compare a refactoring with.

``python -m tests.support.golden record FILE`` loads the demo and small studies into a database of
its own, follows every link as each role and writes what each address answers: texts of tables and
findings, bytes of files, JSON, numbers of reports. ``compare FILE`` does the same again and shows
every difference.
"""
