"""What is wrong with annotation, and what to annotate next: exact probabilities of gold annotation and of texts."""
