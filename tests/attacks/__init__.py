"""Attacks on the package, one module each: `python -m tests.attacks NAME [OPTIONS]`, `--help` after a name says
more. A module has `main`, a function for `typer`, which exits with 1 if the attack has found something."""
