"""Runs: options, store, runner, studies, forks, costs."""
