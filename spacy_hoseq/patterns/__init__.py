"""Higher-order features: label patterns, where they come from and what fires them."""
