"""What names are made of: word lists, composed words and patterns, one YAML file per subject.

How to read and extend them: `branchwise.worlds.naming`.
"""
