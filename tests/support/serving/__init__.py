"""What serves, in this process and in others."""
