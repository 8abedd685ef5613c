"""How a tool says that a call failed."""


class ToolError(Exception):
    """Shown to the model verbatim, line breaks included: say what is wrong and what to do.

    Anything else that a tool raises is shown on one line, with the exception's name.
    """
