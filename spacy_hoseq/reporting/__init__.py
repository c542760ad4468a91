"""Pictures of results. Nothing in the library imports this package."""
