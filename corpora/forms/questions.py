"""The passages that the questions of a set bring."""

from collections.abc import Iterator
from dataclasses import dataclass

from branchwise.base.errors import InputError
from branchwise.corpora.forms.omissions import Omissions
from branchwise.corpora.forms.passages import PlacedPassage
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.passages import passage_id
from branchwise.corpora.records import CorpusRecord


@dataclass(frozen=True)
class QuestionPassages:
    """The passages of a question set."""

    source: str

    def read(self, omissions: Omissions) -> Iterator[PlacedPassage]:
        """The passages, question by question. Raises InputError where no question has any."""
        empty = True
        for question in load_questions(self.source, require_gold=False).questions:
            where = f"{self.source}, question {question.id!r}"
            for passage in question.passages:
                empty = False
                is_hash = passage.id == passage_id(passage.title, passage.text)
                record = CorpusRecord(None if is_hash else passage.id, passage.contents)
                yield PlacedPassage(where, record)
        if empty:
            raise InputError(
                "the questions bring no passages",
                where=self.source,
                remedy="build the corpus from passages (`branchwise corpus forms`)",
            )
