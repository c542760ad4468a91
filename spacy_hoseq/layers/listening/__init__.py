"""Labels of an earlier tagger: handed over, made into features, and the way back."""
