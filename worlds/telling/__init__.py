"""How a world is told: from facts to articles, in the words of `worlds/prose`."""
