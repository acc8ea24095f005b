"""Released layouts and what has drifted from them."""
