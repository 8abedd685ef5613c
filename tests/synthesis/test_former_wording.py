"""How what was so before is worded, and that one verb alone is taken to be about it."""

import pytest

from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Intersection,
    Join,
    Plan,
    Union,
)
from branchwise.worlds.questions.wording.grammar import Grammar

NAMES = {"Q4": "Ash Lane", "Q5": "Pillar Field", "Q7": "Farnora", "Q8": "Glass Sail"}
VARIANTS = 100
WAS_IN_FARNORA = Atomic(relation="formerly studio_home", inverse=True, entity="Q7")
IS_IN_FARNORA = Atomic(relation="studio_home", inverse=True, entity="Q7")
WAS_OWNED = Atomic(relation="formerly label_owner", inverse=True, entity="Q8")
IS_OWNED = Atomic(relation="label_owner", inverse=True, entity="Q8")
WAS_AT_ASH_LANE = Atomic(relation="formerly home_venue", inverse=True, entity="Q4")
WAS_AT_PILLAR_FIELD = Atomic(relation="formerly home_venue", inverse=True, entity="Q5")
HOME_CITIES = Join(of=2, relation="club_home")
RAN = Atomic(relation="formerly chief_executive", entity="Q8")


@pytest.mark.parametrize(
    ("steps", "texts"),
    [
        ((WAS_IN_FARNORA,), {"Which film studios were formerly based in Farnora?"}),
        (
            (RAN,),
            {
                "Who was formerly the chief executive of Glass Sail?",
                "Who used to run Glass Sail?",
                "Which executives used to run Glass Sail?",
                "Which executives were formerly the chief executive of Glass Sail?",
            },
        ),
        (
            (WAS_IN_FARNORA, IS_OWNED, Intersection(of=0, other=1)),
            {
                "Which film studios owned by Glass Sail were formerly based in Farnora?",
                "Which film studios formerly based in Farnora are owned by Glass Sail?",
                "Which film studios formerly based in Farnora does Glass Sail own?",
            },
        ),
        (
            # A city may be home to a stadium, too: "either" keeps Pillar Field with the clubs.
            (WAS_AT_ASH_LANE, WAS_AT_PILLAR_FIELD, Union(of=0, other=1), HOME_CITIES),
            {
                f"Which cities are home to {clubs} either Ash Lane or Pillar Field?"
                for clubs in (
                    "a football club formerly at home at",
                    "football clubs formerly at home at",
                    "a football club that used to play at",
                    "football clubs that used to play at",
                )
            },
        ),
        (
            (IS_IN_FARNORA, WAS_OWNED, Difference(of=0, other=1)),
            {
                "Which film studios based in Farnora were not formerly owned by Glass Sail?",
                "Which film studios are based in Farnora but were not formerly owned by "
                "Glass Sail?",
            },
        ),
    ],
)
def test_what_was_so_before_is_said_of_one_verb_alone(steps, texts):
    schema = world_schema()
    worder = Grammar(schema.with_former(list(schema.former)), 1)
    plan = Plan(steps=steps)
    said = {worder.question(plan, NAMES.__getitem__, v) for v in range(VARIANTS)}
    assert said <= texts
    told = worder.steps(plan, NAMES.__getitem__)
    assert any("formerly" in step for step in told)
