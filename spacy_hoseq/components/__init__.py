"""spaCy components, and where their labels stand on Docs (`targets`).

spaCy finds the factories through entry points.
"""
