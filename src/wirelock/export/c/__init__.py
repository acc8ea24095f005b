"""A Program -> a codec in C."""
