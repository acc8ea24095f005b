"""Layout -> engines that parse and build: one meaning, several ways of running it."""
