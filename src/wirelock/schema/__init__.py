"""Records, protocols and registries: versions of layouts as people use them."""
