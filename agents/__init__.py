"""Who answers: model specs, clients, prompts, the answer format."""
