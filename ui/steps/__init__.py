"""What one step of a trace shows: in a few words, in lines, and in full."""
