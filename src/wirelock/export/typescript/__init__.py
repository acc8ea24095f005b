"""A Program -> a codec in TypeScript."""
