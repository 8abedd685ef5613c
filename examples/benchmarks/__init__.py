"""Small question sets in the forms of benchmarks."""
