"""The figures of a report as files for papers, drawn with matplotlib."""
