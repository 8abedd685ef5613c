"""Arguments of the public functions: one of another type is refused in one line."""

import functools
import inspect
import os
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

from branchwise.base.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
_WIDER: Mapping[type, type] = {Path: os.PathLike, int: Integral}
"""What may stand for a class: an epoch out of a data frame is an integer of numpy's."""


def typed_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function raise InputError for an argument that its annotation rules out.

    Elements of collections are left to the function, as are annotations that are texts and
    protocols. A text does not pass for a collection: of `ids="q1"` each letter would be an id.
    """
    signature = inspect.signature(function)
    allowed = {name: (*_classes(p.annotation),) for name, p in signature.parameters.items()}
    several = {p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL}

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            remedy = f"its parameters are {', '.join(signature.parameters)}"
            raise InputError(str(error), where=function.__name__, remedy=remedy) from None
        for name, given in bound.arguments.items():
            for value in given if name in several else (given,):
                if not _fits(value, allowed[name]):
                    names = [_name(cls) for cls in allowed[name] if cls is not types.NoneType]
                    article = "an" if names[0][0] in "aeiouAEIOU" else "a"
                    what = "None" if value is None else f"of the type {type(value).__name__}"
                    raise InputError(
                        f"{name} is {what}",
                        where=function.__name__,
                        remedy=f"give {article} {' or '.join(dict.fromkeys(names))}",
                    )
        return function(*args, **kwargs)

    return called


def _classes(annotation: Any) -> Iterator[type]:
    """The classes of an annotation; `object` for what cannot be checked."""
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _classes(member)
        return
    cls = object if annotation is inspect.Parameter.empty else get_origin(annotation) or annotation
    if cls is None:
        yield types.NoneType
    else:
        try:
            isinstance(None, cls)
        except TypeError:
            cls = object
        yield cls


def _fits(value: Any, classes: tuple[type, ...]) -> bool:
    if isinstance(value, str):
        return str in classes or object in classes
    return isinstance(value, tuple(_WIDER.get(cls, cls) for cls in classes))


def _name(cls: type) -> str:
    """A collection is called as what is mostly given for it."""
    if cls in (Mapping, Callable):
        return "dict" if cls is Mapping else "function"
    return "list" if cls in (Collection, Iterable, Sequence) else cls.__name__
