"""What the HTML report does in a browser, file by file in the order of their names."""
