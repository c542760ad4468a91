"""Labels of morphology: a part of speech with features."""
