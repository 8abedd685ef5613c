"""What makes a world hard to empty by search: its dials, and the settings that have names."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict, Field

from branchwise.base.errors import InputError


def _percent(description: str) -> int:
    value: int = Field(default=0, ge=0, le=100, description=description)
    return value


class Dials(BaseModel):
    """Each in per cent; all at 0 make a world as it was before there were any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hubs: int = _percent("links that go to a few entities with hundreds of them")
    namesakes: int = _percent("shared names that go across kinds: a person, a company and a city")
    bare_titles: int = _percent("shared names whose articles have the name alone as title")
    one_side: int = _percent("two-sided facts told once: about one side, drawn by chance")
    astray: int = _percent("facts told in the article of another entity that is related")
    retellings: int = _percent("articles with a second one that retells a part in other words")
    former: int = _percent("values that change with time of which a passage states a former one")


EASY = Dials()
DIFFICULTIES: Mapping[str, Dials] = {
    "easy": EASY,
    "standard": Dials(
        hubs=30, namesakes=20, bare_titles=35, one_side=60, astray=10, retellings=25, former=15
    ),
    "hard": Dials(
        hubs=60, namesakes=40, bare_titles=70, one_side=100, astray=25, retellings=50, former=30
    ),
}


def dials_for(difficulty: str, settings: Iterable[str]) -> Dials:
    """A difficulty's dials, some set by `NAME=PERCENT`. Raises InputError for what is none."""
    if difficulty not in DIFFICULTIES:
        raise InputError(
            f"unknown difficulty {difficulty!r}", remedy=f"give {', '.join(DIFFICULTIES)}"
        )
    chosen = DIFFICULTIES[difficulty].model_dump()
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in Dials.model_fields:
            raise InputError(
                f"unknown dial {name!r}", remedy=f"give {', '.join(Dials.model_fields)}"
            )
        if not value.isascii() or not value.isdigit() or int(value) > 100:
            raise InputError(
                f"the dial {name} cannot be {value!r}", remedy=f"give {name}=0 to {name}=100"
            )
        chosen[name] = int(value)
    return Dials(**chosen)
