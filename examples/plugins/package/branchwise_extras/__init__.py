"""Plug-ins for Branchwise: a calculator, a node that shortens passages, a metric."""
