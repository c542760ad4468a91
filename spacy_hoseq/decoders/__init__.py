"""Scores -> labels, probabilities, n-best. NumPy only: importing this package loads neither spaCy nor thinc.

Notation, everywhere: N tokens in S sequences laid end to end (`lengths` (S,) says where they part), L labels,
`scores[n, y]` emission scores, `trans[y_prev, y]` first index = earlier token, `allowed[n, y]` boolean mask.
"""
