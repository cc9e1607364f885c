"""Incidents in kitchens, a line each: a number, a tabulator, and what happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hazardmill.ingest.sources import InputFile, InputRefusal, Note, Source, find_files, read_lines, whole_file_problem
from hazardmill.records import Record, Reject


class Incidents(Source):
    """Incidents in kitchens."""

    name = "incidents"
    title = "Incidents in kitchens"
    licence = "CC0-1.0"
    attribution = "The kitchen staff"
    address = "unknown"
    description = "What went wrong in a kitchen, in a sentence."
    expects = "a .tsv file of incidents, or a folder of such files"
    facts = ("number",)
    folder = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        return find_files(path, lambda file: file.suffix == ".tsv")

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        problem = whole_file_problem(file.path)
        if problem is not None:
            yield self.reject(file, problem)
            return
        for line in read_lines(file.path):
            number, _, text = line.text.partition("\t")
            if line.refusal is not None:
                yield self.reject(file, line.refusal, line=line.number)
            elif not number.isdecimal() or not text.strip():
                wrong = InputRefusal("incident", "there is no number, or no text", "write: number, tabulator, text")
                yield self.reject(file, wrong, line=line.number)
            else:
                yield Record(
                    source=self.name,
                    native_id=number,
                    context=f"Incident: {text.strip()}",
                    facts={"number": number},
                    licence=self.licence,
                    attribution=self.attribution,
                    file=file.name,
                    line=line.number,
                )


SOURCE = Incidents()
