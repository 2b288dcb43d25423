"""Memory budgets: what may a program need, and what did it need before?"""
