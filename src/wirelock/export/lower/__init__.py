"""Protocols -> a Program: what is declared, and the functions that read, write and tell."""
