"""Golden vectors: bytes and records that every client must agree on, and the pytest plugin."""
