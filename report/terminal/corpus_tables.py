"""The forms of corpora, for a terminal."""

from collections.abc import Collection

from branchwise.corpora.forms import CorpusForm
from branchwise.report.terminal.console import console, print_line


def print_forms(forms: Collection[CorpusForm]) -> None:
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
