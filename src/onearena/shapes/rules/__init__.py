"""What an operator makes of its arguments' shapes, one rule per operator."""
