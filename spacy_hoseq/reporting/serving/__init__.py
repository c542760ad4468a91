"""A page for text that one types, from a small server (`python -m spacy hoseq serve`; extra
`ui`)."""
