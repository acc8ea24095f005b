"""Captured packets -> typed rows and faults."""
