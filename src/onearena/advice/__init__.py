"""What would lower a program's memory, each with the bytes it would save: computed by planning
the changed program, not guessed."""
