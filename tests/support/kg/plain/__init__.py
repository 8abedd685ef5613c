"""Queries of a world's graph and their answers, worked out in plain Python.

It runs no code of the product, whose mistakes it would share.
"""
