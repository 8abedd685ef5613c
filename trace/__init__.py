"""What an item's trace holds: typed events, and how they belong together."""
