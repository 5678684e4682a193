"""Tables of facts, each row with its source: variables, defaults by release, options, images, rates."""
