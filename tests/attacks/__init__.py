"""Attacks on the package: hostile requests, damaged files, and planted bugs that tests have to find
(`python -m tests.attacks.mutants`)."""
