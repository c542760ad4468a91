"""Where labels stand on Docs: attributes of tokens, extensions, spans, entities, morphology."""
