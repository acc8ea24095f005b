"""Codecs in other languages: a registry's layouts -> source text that gives the same bytes and verdicts."""
