"""The tables of a report as plain data, which every exporter reads."""
