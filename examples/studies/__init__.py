"""Study files to start from: see README.md."""
