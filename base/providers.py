"""Who offers models: by what the user writes before a model's name, the address, the variables that
may hold the key, and who speaks the protocol. A new provider is a row.

LangChain calls them by the same names, or longer ones (`google_genai`, `mistralai`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

OPENAI_KEY, OPENAI_URL = "OPENAI_API_KEY", "https://api.openai.com/v1"


class Provider(NamedTuple):
    """A service that one key opens. `variables`: the first that is set holds the key, which goes
    into the header `header`. `extra` and `package`: what brings the client of a protocol of its
    own; without, the protocol is OpenAI's, and the client ours."""

    url: str
    variables: tuple[str, ...]
    header: str = "Authorization"
    extra: str = ""
    package: str = ""


OPENAI = Provider(OPENAI_URL, (OPENAI_KEY,))
PROVIDERS: Mapping[str, Provider] = MappingProxyType({
    "openai": OPENAI,
    "anthropic": Provider(
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        "x-api-key",
        "anthropic",
        "langchain_anthropic",
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        "x-goog-api-key",
        "google",
        "langchain_google_genai",
    ),
    "mistral": Provider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        extra="mistral",
        package="langchain_mistralai",
    ),
    "cerebras": Provider("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "cohere": Provider("https://api.cohere.ai/compatibility/v1", ("COHERE_API_KEY", "CO_API_KEY")),
    "deepseek": Provider("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "groq": Provider("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "openrouter": Provider("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "together": Provider("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "xai": Provider("https://api.x.ai/v1", ("XAI_API_KEY",)),
})  # fmt: skip
