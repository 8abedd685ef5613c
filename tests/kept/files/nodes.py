"""Steps of one's own at all three places, as the kept run `nodes` was made with."""

from langchain_core.messages import AIMessage, HumanMessage

from branchwise import AgentState, node
from branchwise.graphs.plugins.passages import passages_of, with_passages


@node("before_agent")
async def brief(state: AgentState):
    """Say more."""
    *before, user = state["pending"]
    return {"pending": [*before, HumanMessage(user.text + " Be brief.")], "readings": ["a", "b"]}


@node("after_tools")
async def first(state: AgentState):
    """Keep the first passage of each result."""
    found = [(message, passages_of(message)) for message in state["pending"]]
    return {"pending": [with_passages(m, p[:1]) if p else m for m, p in found]}


@node("before_answer")
async def shout(state: AgentState):
    """Another answer."""
    words = '{"reasoning": "", "answers": {"default": ["Michael Mann"]}}'
    return {"messages": [AIMessage(words)]} if state["messages"][-1].text else {}
