"""What an agent may call."""
