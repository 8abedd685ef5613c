"""What documents of each domain ask for, and how they say it: one YAML file each."""
