"""What a person looks at: tables, steps, progress."""
