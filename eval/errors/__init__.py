"""Where each answer was lost: mentions, the trail of the evidence, labels."""
