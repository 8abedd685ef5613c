"""The words of each kind of event: every module here says some (`branchwise.ui.steps.words`)."""
