"""How a reply ended: what servers call it, by what it means.

Sources: the references of the chat-completions protocol by OpenAI, Azure, DeepSeek, Mistral, Z.ai,
OpenRouter and Gemini; the servers vLLM, SGLang, TGI and TensorRT-LLM; and Anthropic's, Cohere's and
Bedrock's reasons, which gateways pass on.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from branchwise.agents.reply import Finish
from branchwise.base.text import one_line, printable, storable

FinishMeaning = Finish | Literal["interrupted"]
_ENDINGS: Mapping[FinishMeaning, str] = {
    # OpenAI; Anthropic through gateways (end_turn, stop_sequence, pause_turn); Cohere (complete);
    # TGI and others (eos, eos_token); vLLM and SGLang (matched stops come as stop).
    "stop": "stop stopped end_turn stop_sequence stop_sequence_matched complete completed eos"
    " eos_token end_of_text done finished natural pause_turn success",
    # OpenAI, and its deprecated name; Anthropic; Gemini's `STOP` with calls is `stop`.
    "tool_calls": "tool_calls tool_call function_call function_calls tool_use",
    # OpenAI; Anthropic, Gemini (MAX_TOKENS), Cohere; Mistral (model_length); Responses
    # (max_output_tokens, incomplete); TGI; context windows that the reply has filled.
    "length": "length max_tokens max_output_tokens max_completion_tokens max_new_tokens"
    " max_length model_length incomplete truncated length_capped token_limit max_token"
    " output_limit context_length model_context_window_exceeded context_window_exceeded"
    " max_context_length error_limit too_long",
    # OpenAI, Azure; Z.ai (sensitive); Gemini's reasons of safety; Bedrock; Cohere (error_toxic).
    "content_filter": "content_filter content_filtered content_filtering filtered sensitive safety"
    " recitation prohibited_content blocklist spii language image_safety image_recitation"
    " image_prohibited_content model_armor guardrail_intervened guardrail guardrails moderation"
    " error_toxic policy_violation content_policy content_policy_violation blocked harmful"
    " risk_control",
    "refusal": "refusal refused",
    # OpenRouter (error); vLLM, SGLang (abort, error); Z.ai (network_error); DeepSeek
    # (insufficient_system_resource); Gemini (malformed_function_call and the like, other); Cohere
    # (error, timeout, user_cancel); Responses (failed, cancelled); TensorRT-LLM (cancelled).
    "interrupted": "error errored abort aborted network_error cancelled canceled cancel failed"
    " failure timeout timed_out time_limit interrupted disconnected connection_error server_error"
    " internal_error internal_server_error upstream_error provider_error engine_error"
    " insufficient_system_resource resource_exhausted overloaded engine_overloaded rate_limit"
    " rate_limit_exceeded malformed_function_call malformed_tool_call malformed_response"
    " malformed_model_output malformed_tool_use unexpected_tool_call too_many_tool_calls"
    " invalid_tool_call tool_call_error missing_thought_signature user_cancel user_cancelled"
    " shutdown preempted no_image",
}
"""What servers call the end of a reply, by what it means."""
_BY_REASON: Mapping[str, FinishMeaning] = {
    word: ending for ending, words in _ENDINGS.items() for word in words.split()
}
MAX_REASON = 60


def ending_of(choice: Mapping[str, Any]) -> tuple[FinishMeaning, str]:
    """What the finish reason of a choice means; and what it was called, where that is not known.

    Any case of letters, hyphens and spaces for underscores, an enumeration's prefix, and the
    reason as an object's `type` are read. No reason at all is not known either.
    """
    for name in ("finish_reason", "native_finish_reason"):
        given = choice.get(name)
        given = given.get("type") if isinstance(given, Mapping) else given
        reason = one_line(printable(storable("" if given is None else str(given)[:500])))
        word = re.sub(r"[\s-]+", "_", reason).lower().rpartition(".")[2]
        word = word.removeprefix("finish_reason_")
        if word in _BY_REASON:
            return _BY_REASON[word], ""
        if word not in ("", "null", "none"):
            return "unknown", reason[:MAX_REASON]
    return "unknown", ""
