"""The registered components, one file each. spaCy finds them through entry points."""
