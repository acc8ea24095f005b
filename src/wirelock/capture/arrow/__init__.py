"""Decoded captures as Arrow tables, and the files that hold them."""
