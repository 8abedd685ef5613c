"""Scores say which models took part."""

from branchwise.agents.prompt_files import GRADING_PROMPTS, MAPPING_PROMPTS, Prompts
from branchwise.agents.spec import ModelSpec
from branchwise.eval.judging.settle import Settled
from branchwise.eval.scores import Scorer
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import Task, get_task
from branchwise.graphs.role_decoding import NO_ROLES, RoleDecoding


def scorer_of(
    task: Task,
    choice: ScoringChoice,
    prompts: Prompts,
    settled: Settled,
    roles: RoleDecoding = NO_ROLES,
) -> Scorer:
    """The scorer of a resolved choice; of `both`, the one with the model. `roles`: the decoding of
    matcher and judge.

    If no reply of the model was usable, the scorer says so: such scores must neither pass for the
    model's nor replace them in a run's store.
    """
    variant = choice.variant_of(task.name)
    scored = get_task(task.name, variant)
    matcher = scored.matcher if choice.matcher == "lexical" else "llm"
    model = _name(choice.model) if choice.matcher != "lexical" else None
    judge = _name(choice.judge) if choice.judge_entities else None
    if model and "matcher" in settled.in_vain:
        matcher = f"{task.matcher} ({matcher} brought nothing)"
    if judge and "judge" in settled.in_vain:
        judge = f"{judge} (brought nothing)"
    own_prompts = GRADING_PROMPTS if variant else MAPPING_PROMPTS
    told = prompts.digest_of(own_prompts)[:16] if model or judge else None
    asked = {"matcher": model, "judge": judge}
    own = {role: dict(roles[role]) for role, asks in asked.items() if asks and role in roles}
    return Scorer(
        task.name,
        task.version,
        matcher,
        model=model,
        judge=judge,
        prompts=told,
        decoding=own,
        variant=variant,
        pairs=choice.judge_pairs if variant and choice.judge_pairs != "all" else "",
    )


def _name(spec: str | None) -> str | None:
    return ModelSpec.parse(spec).model if spec else None
