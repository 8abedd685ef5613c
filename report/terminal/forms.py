"""The forms of question sets and corpora, for a terminal and for programs."""

from collections.abc import Collection

from branchwise.corpora.forms import CorpusForm
from branchwise.corpora.loaders.format_fields import OBJECTS
from branchwise.corpora.loaders.forms import FORMS, OWN
from branchwise.report.terminal.console import console, print_line, printable_json


def print_corpus_forms(forms: Collection[CorpusForm]) -> None:
    """What each form is, the fields that are read, and for a published one its source."""
    for form in forms:
        print_line(console(), f"{form.name}:{form.place}  {form.about}")
        print_line(console(), f"    fields: {form.fields}")
        if form.split:
            print_line(console(), f"    split: {form.split}, unless --split says otherwise")
        if form.source:
            print_line(console(), f"    from {form.source}; licence: {form.licence}")
    renaming = ", ".join(form.name for form in forms if form.renames)
    print_line(console(), f"{renaming}: --field says what fields are called, text=body title=name.")
    print_line(console(), "A file or a folder named without a form is read as the form it shows.")


def print_forms() -> None:
    """Print every form with its fields, what goes to `meta`, where it comes from, its licence."""
    for form in (OWN, *FORMS.values()):
        console().print(f"{form.prefix}  [dim]{form.title}[/dim]", highlight=False)
        texts = {
            "fields": ", ".join(form.reads),
            "in meta": ", ".join(form.keeps),
            "not read": ", ".join(form.drops),
            "from": form.origin,
            "licence": form.licence,
        }
        for heading, text in texts.items():
            if text or heading == "fields":
                print_line(console(), f"  {heading:<9}{text}")


def forms_as_json() -> str:
    return printable_json(
        [
            {
                "form": form.prefix,
                "title": form.title,
                "fields": form.reads,
                "meta": form.keeps,
                "not_read": form.drops,
                "origin": form.origin or None,
                "licence": form.licence or None,
                "task": form.task,
                "takes_fields": form.takes_fields,
            }
            for form in (OWN, *FORMS.values())
        ]
    )


def print_fields() -> None:
    for name, fields in OBJECTS.items():
        console().print(f"{name}:", highlight=False)
        for field in fields:
            key = f"{field.name}*" if field.required else field.name
            about = f"; {field.about}" if field.about else ""
            print_line(console(), f"  {key:<11}{field.written}{about}")
    console().print("\n* required. Other fields are kept in meta. docs/format.md has examples.")
