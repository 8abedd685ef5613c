"""The figures of a report as SVG files for papers, drawn with matplotlib."""
