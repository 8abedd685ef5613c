"""The numbers that a report's figures show; the page and the SVG files draw the same ones."""
