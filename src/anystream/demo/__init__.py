"""A first look: an answer that improves with every step, and a stream that outruns the machine."""
