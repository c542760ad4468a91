"""Places of labels on Docs: attributes of tokens, extensions, spans, entities, morphology."""
