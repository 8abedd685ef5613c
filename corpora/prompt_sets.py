"""The sets of prompts by name: what agents are told, and what tools say of themselves.

`v2` is the default, `v1` what was said before it, so that runs begun then can go on. `paper` is no
version but a manner of asking: what DeepAmbigQA's agent is told (arXiv:2511.01323), without advice.
"""

from typing import Literal

PromptSet = Literal["v1", "v2", "paper"]
DEFAULT_SET: PromptSet = "v2"
ONE_QUERY: frozenset[PromptSet] = frozenset({"v1", "paper"})
"""Sets in which a search takes one query and no page, and a title does not say which of its
passages this is."""
