"""The offline reader: a rule-based baseline without key or network, imported where it is used."""
