"""Prompts as files that can be replaced."""

import pytest

from branchwise.agents.prompt_files import Prompts, variables_of
from branchwise.base.errors import InputError


def test_every_prompt_renders_with_exactly_its_variables():
    prompts = Prompts.load(None)
    for name in prompts.texts:
        variables = variables_of(name)
        rendered = prompts.render(name, **{v: f"<{v}>" for v in variables})
        assert all(f"<{v}>" in rendered for v in variables)
        assert rendered == rendered.strip() != ""


def test_values_are_put_in_once_and_never_read_as_templates():
    rendered = Prompts.load().render("repair", problem="$schema costs $5", schema="{}")
    assert "$schema costs $5" in rendered


def test_a_file_in_the_directory_replaces_the_prompt_of_its_name(tmp_path):
    (tmp_path / "answer_directly.md").write_text("Be brief. $$5\n")
    (tmp_path / "notes.txt").write_text("not a prompt")
    built_in, replaced = Prompts.load(), Prompts.load(tmp_path)
    assert replaced.render("answer_directly") == "Be brief. $5"
    assert replaced.render("answer_with_tools") == built_in.render("answer_with_tools")
    assert replaced.digest != built_in.digest == Prompts.load().digest


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("answer_with_tool.md", "x", "rename it to answer_with_tools.md"),
        ("budget_spent.md", "stop: $reasons", r"unknown variable \$reasons.*\$reason"),
        ("answer_directly.md", "$name", "variables: none"),
        ("answer_directly.md", "it costs $ 5", r"\$ that starts no variable"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused_with_its_path(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as refused:
        Prompts.load(tmp_path)
    assert str(tmp_path / name) in str(refused.value)


def test_a_missing_directory_or_a_file_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such directory"):
        Prompts.load(tmp_path / "nowhere")
    (tmp_path / "repair.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        Prompts.load(tmp_path)
