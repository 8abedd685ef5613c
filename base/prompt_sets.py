"""The sets of prompts by name: what agents are told, and what tools say of themselves.

`v2` is the default. `paper` is what DeepAmbigQA's agent is told (arXiv:2511.01323, Figures 16 to
21), without advice: there an expander makes every question more specific, a search takes one query
and no page, and a title does not say which of its passages this is.
"""

from typing import Literal

PromptSet = Literal["v2", "paper"]
DEFAULT_SET: PromptSet = "v2"
