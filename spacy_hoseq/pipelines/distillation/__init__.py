"""A student from the labels that any pipeline gives to texts: its corpus, the trainings, and the
card."""
