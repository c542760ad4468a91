"""Labels that turn words into lemmas."""
