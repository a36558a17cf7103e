"""Device plugins under test: how they are started, what they see, and what is seen of them."""
