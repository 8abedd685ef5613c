"""Reading a query's structure from its tokens."""

from branchwise.kg.sparql.structure import (
    INSTANT,
    KNOWN,
    RDF_TYPE,
    GroupKind,
    GroupPattern,
    QueryPrefixes,
    SelectQuery,
    Triple,
    names_of,
    whole_instant,
)
from branchwise.kg.sparql.tokens import Span, Token

FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
_CLOSING = {"{": "}", "(": ")", "[": "]"}
_KINDS: dict[str, GroupKind] = {"OPTIONAL": "optional", "MINUS": "minus", "UNION": "union"}
_TERMS = ("iri", "name", "variable", "blank", "string", "number")


class Reader:
    """Reads tokens once, from front to back. `selects`: all that it met, outer ones first;
    `patterns`: how many triple patterns; `removable`: from where to where there is none."""

    def __init__(self, tokens: list[Token], names: QueryPrefixes) -> None:
        self.tokens = tokens
        self.names = names
        self.at = names.prologue_end
        self.blanks = 0
        self.patterns = 0
        self.selects: list[SelectQuery] = []
        self.removable: list[tuple[int, int]] = []

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.here
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, *words: str) -> Token | None:
        return self.take() if self.here.says(*words) else None

    def query(self) -> SelectQuery | None:
        return self.select(None) if self.here.says(*FORMS) else None

    def select(self, parent: GroupPattern | None) -> SelectQuery:
        """A query from its first word to the end of its text, or of the group that it is in."""
        form = self.take()
        where = GroupPattern("where", parent, form.start)
        select = SelectQuery(form.text.upper(), where)
        self.selects.append(select)
        self._head(select)
        if self.here.says("{"):
            self.group(where)
        self._tail(select)
        return select

    def _head(self, select: SelectQuery) -> None:
        if select.form == "CONSTRUCT" and self.here.says("{"):
            select.reads += [t for t in self.bracketed() if t.kind == "variable"]
        while not self.here.says("{", "}") and self.here.kind != "end":
            if self.here.says("("):
                start = self.at
                self._expression(select.reads, select.named, select.where)
                opening, word, name = (self.tokens[at] for at in (start, self.at - 3, self.at - 2))
                if word.says("AS") and name.kind == "variable":
                    select.expressions[name.text[1:]] = Span(opening.end, word.start)
                select.grouped |= any(t.says(*_AGGREGATES) for t in self.tokens[start : self.at])
                continue
            token = self.take()
            if token.kind == "variable":
                select.plain.append(token)
                select.named.append(token.text[1:])
            elif token.says("*"):
                select.star = token
            elif token.says(","):
                select.commas.append(token)

    def _tail(self, select: SelectQuery) -> None:
        clause = ""
        while not self.here.says("}") and self.here.kind != "end":
            start = self.at
            if self.here.says("VALUES"):
                self._values(select.where)
                continue
            if self.here.says("{"):
                self.group(GroupPattern("exists", select.where, self.here.start))
                continue
            if self.here.says("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"):
                clause = self.take().text.upper()
                select.grouped |= clause == "GROUP"
                self.accept("BY")
                continue
            first = len(select.reads)
            if self.here.says("("):
                self._expression(select.reads, select.keys, select.where)
            elif self.take().kind == "variable":
                token = self.tokens[start]
                (select.keys if clause == "GROUP" else []).append(token.text[1:])
                (select.ordered if clause == "ORDER" else select.reads).append(token)
            if clause == "HAVING":
                select.having += select.reads[first:]
            if clause == "GROUP":
                select.keys_end = self.tokens[self.at - 1].end

    def group(self, group: GroupPattern) -> GroupPattern:
        group.start = self.take().start
        if self.here.says("SELECT"):
            group.select = self.select(group)
        while not self.here.says("}") and self.here.kind != "end":
            self._element(group)
        group.end = self.take().end
        return group

    def _child(self, group: GroupPattern, kind: GroupKind, head: int) -> GroupPattern | None:
        if not self.here.says("{"):
            return None
        child = GroupPattern(kind, group, self.here.start, head=head)
        group.groups.append(child)
        return self.group(child)

    def _element(self, group: GroupPattern) -> None:
        token = self.here
        if token.says("{"):
            child = self._child(group, "plain", token.start)
            if child is not None and self.here.says("UNION"):
                child.kind = "union"
        elif token.says(*_KINDS):
            self._child(group, _KINDS[self.take().text.upper()], token.start)
        elif token.says("GRAPH", "SERVICE"):
            self._named(group)
        elif token.says("FILTER"):
            self._filter(group)
        elif token.says("BIND"):
            self.take()
            first = len(group.reads)
            self._expression(group.reads, group.sets, group)
            for name in names_of(group.reads[first:]):
                group.before.setdefault(name, token.start)
        elif token.says("VALUES"):
            self._values(group)
        elif token.kind in _TERMS or token.says("(", "["):
            self._triples(group)
        else:
            self.take()

    def _named(self, group: GroupPattern) -> None:
        last, head = self.tokens[self.at - 1], self.take()
        self.accept("SILENT")
        kind: GroupKind = "graph" if head.says("GRAPH") else "service"
        if not self.here.says("{"):
            self.take()
        child = self._child(group, kind, head.start)
        if child is not None and kind == "service":
            child.open_before = not last.says(".", "{", "}")
            if self.here.says("."):
                child.end = self.take().end

    def _filter(self, group: GroupPattern) -> None:
        head = self.take()
        first = len(group.reads)
        while self.here.says("NOT", "EXISTS") or self.here.kind in ("word", "iri", "name"):
            if self.take().says("EXISTS"):
                self._child(group, "exists", self.here.start)
                return
        self._expression(group.reads, [], group)
        span = Span(head.start, self.tokens[self.at - 1].end)
        group.filters.append((span, names_of(group.reads[first:])))

    def _expression(self, reads: list[Token], sets: list[str], group: GroupPattern) -> None:
        """What stands in parentheses; `EXISTS` groups in it become groups of `group`."""
        level, after_as = (1 if self.accept("(") else 0), False
        while level and self.here.kind != "end" and not self.here.says("}"):
            if self.here.says("{"):
                self._child(group, "exists", self.here.start)
                continue
            token = self.take()
            level += token.says("(") - token.says(")")
            if token.kind == "variable":
                if after_as:
                    sets.append(token.text[1:])
                else:
                    reads.append(token)
            after_as = token.says("AS")

    def _values(self, group: GroupPattern) -> None:
        self.take()
        named: list[str] = []
        while not self.here.says("{", "}") and self.here.kind != "end":
            token = self.take()
            if token.kind == "variable":
                named.append(token.text[1:])
        group.sets += named
        if self.here.says("{") and not any(token.says("UNDEF") for token in self.bracketed()):
            group.always += named

    def bracketed(self) -> list[Token]:
        """From an opening bracket to the one that closes it, and past it."""
        start, level = self.at, 0
        while self.here.kind != "end":
            token = self.take()
            level += token.says(*_CLOSING) - token.says(*_CLOSING.values())
            if level == 0:
                break
        return self.tokens[start : self.at]

    def _triples(self, group: GroupPattern) -> None:
        start = self.at
        subject = self._node(group)
        if subject.startswith(f"<{KNOWN['hint']}"):
            for _ in range(2):
                if not self.here.says("}", "."):
                    self.take()
            self.accept(".")
            self.removable.append((self.tokens[start].start, self.tokens[self.at - 1].end))
            return
        self._properties(group, subject, start)
        if self.at == start:
            self.take()

    def _properties(self, group: GroupPattern, subject: str, start: int) -> None:
        head = [] if subject.startswith("_") else self.tokens[start : self.at]
        while True:
            verb = self.at
            predicate = self._verb()
            if not predicate:
                return
            verb_tokens = self.tokens[verb : self.at]
            while True:
                begin = self.at
                node = self._node(group)
                if self.at == begin:
                    return
                own = self.tokens[begin : self.at] if node[0] != "_" else []
                tokens = (*head, *verb_tokens, *own)
                text = f"{subject} {predicate} {node}"
                self.patterns += 1
                at = verb_tokens[0].start
                group.triples.append(Triple(text, subject, predicate, node, tokens, at))
                if not self.accept(","):
                    break
            if not self.accept(";"):
                return
            while self.accept(";"):
                pass

    def _verb(self) -> str:
        if self.here.kind == "variable":
            return f"?{self.take().text[1:]}"
        parts: list[str] = []
        level = 0
        expects = True
        while True:
            token = self.here
            if expects and token.says("(", "^", "!"):
                level += token.says("(")
            elif expects and (token.kind in ("iri", "name") or token.text == "a"):
                expects = False
            elif expects and token.says(")") and level and parts[-1:] == ["("]:
                level, expects = level - 1, False
            elif not expects and token.says("/", "|"):
                expects = True
            elif not expects and token.says(")") and level:
                level -= 1
            elif expects or not token.says("*", "+", "?"):
                break
            parts.append(f"<{RDF_TYPE}>" if token.text == "a" else self.names.full(token))
            self.take()
        return "".join(parts)

    def _node(self, group: GroupPattern) -> str:
        """A term as text; brackets become a blank node, and their triples the group's."""
        if self.here.says("["):
            start = self.at
            self.take()
            self.blanks += 1
            blank = f"_:bracket{self.blanks}"
            self._properties(group, blank, start + 1)
            self.accept("]")
            return blank
        if self.here.says("("):
            return " ".join(self.names.full(token) for token in self.bracketed())
        if self.here.says("+", "-") and self.tokens[self.at + 1].kind == "number":
            return self.take().text + self.take().text
        if not (self.here.kind in _TERMS or self.here.says("true", "false", "TRUE", "FALSE")):
            return ""
        token = self.take()
        if token.kind == "variable":
            return f"?{token.text[1:]}"
        text = self.names.full(token)
        if token.kind == "string":
            if self.here.kind == "language":
                text += self.take().text
            elif self.accept("^^"):
                datatype = self.take()
                if self.names.iri(datatype) == INSTANT:
                    text = whole_instant(text)
                text += "^^" + self.names.full(datatype)
        return text
