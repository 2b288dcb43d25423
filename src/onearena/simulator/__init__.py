"""Runs a program's instructions on the host, in one poisoned buffer per arena.

Every planned tensor lies exactly where the plan puts it, and has a second copy in memory of its
own. A byte that is not what the second copy holds when somebody reads it was overwritten: the
plan is wrong, and the last writer of that byte is why.
"""
