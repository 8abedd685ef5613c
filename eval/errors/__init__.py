"""Where each answer was lost: mentions, the evidence, labels."""
