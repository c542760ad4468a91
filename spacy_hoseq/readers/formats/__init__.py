"""One file for each format of corpora: trees, tagged text, columns, People's Daily, CoNLL-U."""
