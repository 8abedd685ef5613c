"""`branchwise corpus`: build, index, search and look at passage collections."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import typer

from branchwise.agents.headers import headers_over
from branchwise.base.errors import InputError
from branchwise.base.text import counted, cut, one_line, printable
from branchwise.commands.corpus_eval import evaluate
from branchwise.commands.options import AsJson, Field, FieldCommand, Header, Key, read_keys
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.encoder_models import DEFAULT_ENCODER, EncoderSettings
from branchwise.corpora.folder import Corpus
from branchwise.corpora.forms import CORPUS_FORMS, SPLIT_HELP
from branchwise.corpora.kinds import DEFAULT, FLASHRAG, INDEX_KINDS, NAMES, RECALL
from branchwise.corpora.manifest import MANIFEST_FILE, index_names, read_manifest
from branchwise.corpora.open import needs_corpus, open_retriever
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import MAX_K
from branchwise.report.terminal.console import echo, print_json
from branchwise.report.terminal.forms import print_corpus_forms
from branchwise.report.terminal.progress import ProgressBar

corpus_app = typer.Typer(no_args_is_help=True, add_completion=False)

_SHOWN_CHARS = 300


CorpusDir = Annotated[Path, typer.Argument(metavar="DIR", help="Corpus folder.")]


@corpus_app.command(cls=FieldCommand)
def build(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="SRC",
            help=f"Passages or documents: {', '.join(f'{name}:' for name in CORPUS_FORMS)} before "
            "a file or a folder (see `corpus forms`), one whose form shows, or a question set "
            "whose own passages to take (condambigqa:PATH).",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Corpus folder to make.")],
    field: Field = None,
    split: Annotated[str | None, typer.Option(help=SPLIT_HELP)] = None,
    json_output: AsJson = False,
) -> None:
    """Make a corpus folder from passages, documents or a question set's own passages.

    What is left out (doubles, empty texts, files that cannot be read) is counted and named.

    Example: branchwise corpus build --from condambigqa:dev.json --out C
    Example: branchwise corpus build --from docs --split words:100 --out C
    Example: branchwise corpus build --from csv:p.csv --field text=body title=name --out C
    """
    with ProgressBar("reading", "passages") as progress:
        built = build_corpus(source, out, progress, fields=field or (), split=split)
    corpus = built.corpus
    rows = sorted({0, len(corpus) // 2, len(corpus) - 1})
    if json_output:
        about = {"passages": len(corpus), "bytes": corpus.bytes, "sha256": corpus.sha256}
        sample = [corpus.passage(row).model_dump() for row in rows]
        rest = {"left_out": built.omissions.as_json(), "sample": sample}
        print_json({"source": built.source, **about, **rest})
        return
    echo(f"{out}: {counted(len(corpus), 'passage')}, {corpus.bytes / 2**20:.1f} MiB")
    if built.source != source:
        echo(printable(f"read as {built.source}"))
    for line in built.omissions.lines():
        echo(f"left out: {line}")
    echo("for example:")
    for row in rows:
        _show("-", corpus.passage(row))
    echo(f"next: branchwise corpus index {out} --kind bm25")


@corpus_app.command()
def forms(json_output: AsJson = False) -> None:
    """List the forms of passages and documents that a corpus is built from.

    Example: branchwise corpus forms
    """
    if json_output:
        print_json([asdict(form) for form in CORPUS_FORMS.values()])
        return
    print_corpus_forms(CORPUS_FORMS.values())


def _of_encoder(help: str, **more: Any) -> Any:
    return typer.Option(help=f"flat, ivf: {help}", **more)


KindName = Annotated[
    str,
    typer.Option(
        click_type=click.Choice([*INDEX_KINDS]),
        help=" ".join(f"{kind.name}: {kind.about}." for kind in INDEX_KINDS.values()),
    ),
]
EncoderName = Annotated[
    str | None,
    _of_encoder(
        "a sentence-transformers model, by name (intfloat/e5-base-v2) or folder. Default: the "
        "bundled all-MiniLM-L6-v2."
    ),
]
BackendOption = Annotated[
    Literal["auto", "torch", "openvino"], _of_encoder("auto uses openvino where it is installed.")
]
DtypeOption = Annotated[
    Literal["auto", "float32", "float16"],
    _of_encoder("number format of the vectors. auto: float16; float32 with --from-vectors."),
]
VectorsOption = Annotated[
    Path | None,
    _of_encoder(
        "take the vectors that --encoder made of this corpus elsewhere: .npy, .parquet, or a Flat "
        ".index of FlashRAG's or Search-R1's.",
        metavar="FILE",
    ),
]
FlashragFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="--from-vectors FILE, and --name flashrag.")
]
QueryPrefix = Annotated[str | None, _of_encoder("text before each query. Default: the model's.")]
PassagePrefix = Annotated[
    str | None, _of_encoder("text before each passage. Default: the model's.")
]
Pooling = Annotated[
    Literal["mean", "cls"] | None, _of_encoder("pooling of tokens. Default: the model's.")
]
Recall = Annotated[
    float,
    typer.Option(
        help="ivf: share of the ten nearest passages to find; more is slower.", min=0.5, max=1.0
    ),
]
MaxTokens = Annotated[
    int | None, _of_encoder("tokens after which a text is cut. Default: the model's.", min=8)
]


@corpus_app.command()
def index(
    path: CorpusDir,
    kind: KindName = DEFAULT,
    encoder: EncoderName = None,
    name: Annotated[str | None, typer.Option(help="Name of the index. Default: its kind.")] = None,
    backend: BackendOption = "auto",
    dtype: DtypeOption = "auto",
    from_vectors: VectorsOption = None,
    from_flashrag: FlashragFile = None,
    query_prefix: QueryPrefix = None,
    passage_prefix: PassagePrefix = None,
    pooling: Pooling = None,
    recall: Recall = RECALL,
    max_tokens: MaxTokens = None,
) -> None:
    """Index a corpus, so that it can be searched. Stopped halfway, nothing is changed; what was
    encoded is kept, and the same command goes on with it.

    Example: branchwise corpus index C --kind flat
    """
    settings = EncoderSettings(query_prefix, passage_prefix, pooling, max_tokens)
    built = INDEX_KINDS[kind]
    if from_flashrag:
        from_vectors, name = from_vectors or from_flashrag, name or FLASHRAG.rstrip(":")
    if not built.encodes and (encoder or from_vectors or settings.given):
        remedy = "leave out --encoder, --from-vectors and their settings, or use --kind"
        raise InputError(f"{kind} has no encoder", remedy=f"{remedy} {DEFAULT}")
    with ProgressBar("taking over" if from_vectors else built.building) as progress:
        made = build_index(
            path,
            kind,
            name=name,
            encoder=encoder or DEFAULT_ENCODER,
            backend=backend,
            dtype=dtype,
            settings=settings,
            recall=recall,
            vectors=from_vectors,
            progress=progress,
        )
    manifest = json.loads((made / MANIFEST_FILE).read_bytes())
    echo(f"{made}: ready")
    echo(printable(_described(manifest)))
    most = INDEX_KINDS[manifest["kind"]].fast_to
    if most is not None and manifest["passages"] > most:
        echo(
            f"it compares each query with all {manifest['passages']:,} passages, which is fast up "
            f"to {most:,}: --kind ivf is faster"
        )
    echo(f'next: branchwise corpus search {path} "..." --retriever {made.name}')


@corpus_app.command()
def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[DIR] QUERY",
            help="Corpus folder, unless the retriever needs none, and what to look for.",
        ),
    ],
    retriever: Annotated[
        str | None,
        typer.Option(
            help=f"{NAMES}, an index name, http:URL or flashrag:FILE. "
            f"Default: the only one, or {DEFAULT}."
        ),
    ] = None,
    k: Annotated[int, typer.Option(help="How many passages.", min=1, max=MAX_K)] = 3,
    key: Key = None,
    header: Header = None,
    json_output: AsJson = False,
) -> None:
    """Search a corpus, or a retrieval server, as an agent would.

    Example: branchwise corpus search C "Who won the 2010 World Cup?" --k 5
    """
    *folders, query = words
    if len(folders) > 1:
        remedy = "put the query in quotes after the corpus folder"
        problem = f"{len(words)} arguments are more than a folder and a query"
        raise InputError(problem, remedy=remedy)
    if not query.strip():
        raise InputError("the query is empty", remedy="put it in quotes after the corpus folder")
    if not folders and needs_corpus(retriever):
        remedy = f'name its folder: branchwise corpus search DIR "{query[:60]}"'
        raise InputError("there is no corpus to search", remedy=remedy)
    path, headers = Path(folders[0]) if folders else None, headers_over(header or (), {})
    opened = open_retriever(path, retriever, keys=read_keys(key), headers=headers)
    hits = opened.search([query], k)[0]
    if json_output:
        print_json([hit.passage.model_dump() | {"score": hit.score} for hit in hits])
    elif not hits:
        echo("no passage matches")
    else:
        for rank, hit in enumerate(hits, start=1):
            _show(f"{rank}.", hit.passage, f"  ({hit.score:.4f})")


corpus_app.command(name="eval", cls=FieldCommand)(evaluate)


@corpus_app.command()
def info(path: CorpusDir, json_output: AsJson = False) -> None:
    """Say what a corpus folder holds.

    Example: branchwise corpus info C
    """
    corpus, indexes = Corpus.open(path), dict[str, Any]()
    for name in index_names(corpus.path):
        try:
            indexes[name] = read_manifest(corpus, name).model_dump(mode="json", exclude_none=True)
        except InputError as error:
            indexes[name] = {"problem": str(error)}
    size, digest = corpus.bytes, corpus.sha256
    facts = {"passages": len(corpus), "bytes": size, "sha256": digest, "indexes": indexes}
    if json_output:
        print_json(facts)
        return
    echo(f"{path}: {counted(len(corpus), 'passage')}, {size / 2**20:.1f} MiB\nSHA-256 {digest}")
    for name, about in indexes.items():
        echo(f"index {name}: {printable(about.get('problem') or _described(about))}")
    if not indexes:
        echo(f"no index yet; make one: branchwise corpus index {path} --kind bm25")


def _described(manifest: dict[str, Any]) -> str:
    return f"{manifest['kind']}, {INDEX_KINDS[manifest['kind']].load().described(manifest)}"


def _show(mark: str, passage: Passage, score: str = "") -> None:
    echo(printable(f"{mark} [{passage.id}] {passage.title}{score}"))
    echo(f"   {printable(cut(one_line(passage.text), _SHOWN_CHARS + 1))}")
