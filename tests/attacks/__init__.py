"""Attacks on the package: hostile requests, and planted bugs that tests have to find
(`python -m tests.attacks.mutants`)."""
