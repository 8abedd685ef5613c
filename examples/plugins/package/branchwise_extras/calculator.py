"""A tool that calculates with numbers. Nothing is evaluated as Python: its syntax tree is read."""

import ast
import operator
from collections.abc import Callable, Mapping

from branchwise import ToolError, tool

Number = int | float
MAX_CHARS, MAX_BITS = 300, 10_000
_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


@tool(seconds=5)
def calculate(expression: str) -> str:
    """Calculate: numbers, + - * / // (whole division) % (rest) ** (power), and brackets.

    Args:
        expression: such as "(1995 - 1986) * 365".
    """
    if len(expression) > MAX_CHARS:
        raise ToolError(f"at most {MAX_CHARS} characters; calculate it in parts")
    try:
        parsed = ast.parse(expression.strip().replace(",", ""), mode="eval")
        return f"{expression.strip()} = {_value(parsed.body):,}"
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ToolError("this is not an expression; write one like (1995 - 1986) * 365") from None
    except (ZeroDivisionError, OverflowError) as error:
        raise ToolError(f"it has no value: {error}") from None


def _value(node: ast.expr) -> Number:
    """The value of a node. Raises ToolError for anything but numbers and operators."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        _check_size(node.op, left, right)
        value = _BINARY[type(node.op)](left, right)
        if isinstance(value, int | float):  # a root of a negative number is neither
            return value
    raise ToolError("only numbers, + - * / // % ** and brackets can be calculated")


def _check_size(operation: ast.operator, left: Number, right: Number) -> None:
    """Refuse whole numbers that would not fit into memory, before they are made."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = left.bit_length() + right.bit_length()
    if isinstance(operation, ast.Pow):
        bits = left.bit_length() * max(0, right)
    if bits > MAX_BITS:
        raise ToolError("a number in it gets too large")
