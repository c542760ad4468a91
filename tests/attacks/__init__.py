"""Attacks: damaged files and hostile requests, by the thousand. `python -m tests.attacks.files`, `... .requests`."""
