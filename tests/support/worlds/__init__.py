"""An independent reader of worlds, and checks of what they say."""
