"""Results for people and machines: computed once as dataclasses, rendered here."""
