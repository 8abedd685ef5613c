"""Servers that others wrote, and how they are started and watched."""
