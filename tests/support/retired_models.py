"""Models that OpenAI has shut down, or has announced to: nothing that a user reads offers them.

Source: https://developers.openai.com/api/docs/deprecations, read on 27 November 2026. Dated names
(`gpt-4o-2024-08-06`) go with their undated ones. Another provider's models are not listed here.
"""

import re
from datetime import date

RETIRED = {
    name: day
    for day, names in {
        date(
            2026, 10, 23
        ): "gpt-3.5-turbo gpt-4 gpt-4-turbo gpt-4.1-nano o1 o1-pro o3-mini o4-mini",
        date(2026, 12, 11): "gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro o3 o3-pro",
        date(2027, 1, 14): "gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini",
        date(2027, 4, 1): "gpt-5.1 gpt-5.3-codex gpt-5.4-nano",
    }.items()
    for name in names.split()
}
"""The day of the shutdown by model."""

_NAMES = "|".join(sorted(map(re.escape, RETIRED), key=len, reverse=True))
# `o1` and `o3` are words elsewhere: as models they stand behind a provider's name or in quotes.
_MENTION = re.compile(
    rf"(?:(?<![\w.-])(?=gpt)|(?<=openai[:/])|(?<=`))(?P<name>{_NAMES})"
    r"(?:-20\d\d-\d\d-\d\d)?(?![\w-]|\.\d)"
)


def retired_in(text: str) -> set[str]:
    """The retired models that a text names, as the API does; a paper's `GPT-4o` is not one."""
    return {found["name"] for found in _MENTION.finditer(text)}
