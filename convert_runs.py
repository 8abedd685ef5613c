"""Carries run and study folders, each in its place, to the form that is kept:
`python convert_runs.py FOLDER...`.

A store of format 1 or 2 becomes one of format 3; its system gets the settings that there were not
when it was made, as they were then; `study.json` gets its models and bases. A prompt set that is no
more is called by the next one's name, so such a run is read, scored and replayed, and does not go
on. A folder whose scores would change stays as it was.
"""

import shutil
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from branchwise import score
from branchwise.eval.store.connection import DATABASE, FORMAT, connect
from branchwise.eval.store.recovering import recover_run
from branchwise.eval.store.run_file import RunFile
from branchwise.eval.store.tables import BY_ITSELF
from branchwise.eval.studies.folder import STUDY_FILE, StudyFolder
from branchwise.graphs.system import System


def main(folders: list[str]) -> None:
    for folder in map(Path, folders):
        for file in sorted(folder.rglob(DATABASE)):
            sys.stdout.write(f"{file.parent} {convert(file.parent)}\n")
        for file in sorted(folder.rglob(STUDY_FILE)):
            convert_study(file)


def convert(run: Path) -> str:
    old = RunFile(run)
    meta = dict(old.meta)
    old.close()
    system = completed(meta["system"])
    if meta["format"] == FORMAT and meta["system"] == system:
        return "stays as it is"
    with TemporaryDirectory() as place:
        copy, new = Path(shutil.copytree(run, Path(place, "old"))), Path(place, "new")
        recovery = recover_run(copy, new)
        if recovery.damaged or recovery.responses_lost:
            sys.exit(f"{run} is damaged: branchwise recover")
        with closing(connect(new / DATABASE)) as connection:
            BY_ITSELF.enable(connection)
            row = ("system", orjson.dumps(system).decode())
            connection.execute(BY_ITSELF.insert("meta", "INSERT OR REPLACE"), row)
            connection.execute("PRAGMA journal_mode = DELETE")
        if score(copy).to_json() != score(new).to_json():
            sys.exit(f"{run} would score otherwise")
        for file in run.glob(f"{DATABASE}*"):
            file.unlink()
        shutil.move(new / DATABASE, run / DATABASE)
    return "is carried over"


def convert_study(file: Path) -> None:
    record = StudyFolder.open(file.parent).record
    systems = tuple(
        one.model_copy(update={"system": completed(one.system)}) for one in record.systems
    )
    record = record.model_copy(update={"format": 2, "systems": systems})
    file.write_bytes(orjson.dumps(record.model_dump(mode="json"), option=orjson.OPT_INDENT_2))


def completed(system: dict) -> dict:
    given = System.recorded(system).model_dump(mode="json")
    return given | ({"prompt_set": "v2"} if given["prompt_set"] == "v1" else {})


if __name__ == "__main__":
    main(sys.argv[1:])
