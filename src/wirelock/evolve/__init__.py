"""What a change of layouts breaks, and for whom."""
