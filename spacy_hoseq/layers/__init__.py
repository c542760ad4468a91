"""thinc Models: Docs -> emission scores -> potentials. They hold the weights; inference is in `decoders`."""
