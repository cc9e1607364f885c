"""Writing croissant.json: the release described for machines (Croissant 1.1, JSON-LD, and its RAI vocabulary).

Each file is a FileObject with its hash. Each config is a FileSet of its Parquet files, and a RecordSet whose fields are
the columns; the split is taken from the file name. Addresses are relative, so the description is valid wherever the
folder is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from hazardmill.authors import Author
from hazardmill.release.build.configs import BY_SA_MEANS, CONFIGS, base_of
from hazardmill.release.documents.card_context import ColumnFact, ConfigFact, Facts
from hazardmill.release.documents.citation import AUTHORS, KEYWORDS, abstract, bibtex, doi_address, orcid_address
from hazardmill.release.documents.licences import licence_name
from hazardmill.reporting.html import write_text
from hazardmill.text.printable import escape_in_json

CROISSANT: Final = "croissant.json"

_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The JSON-LD context that the specification requires."""

_ENCODINGS: Final = {
    ".parquet": "application/x-parquet",
    ".zst": "application/zstd",
    ".md": "text/markdown",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".cff": "application/yaml",
}

_TYPES: Final = {"string": "sc:Text", "int64": "cr:Int64", "double": "cr:Float64", "bool": "sc:Boolean"}
"""Arrow type to Croissant type."""


def write_croissant(folder: Path, facts: Facts) -> list[str]:
    """Write croissant.json.

    Returns:
        Path of the file within the folder.

    Raises:
        StoreError: The file cannot be written.
    """
    text = escape_in_json(json.dumps(croissant(facts), indent=2, ensure_ascii=False))
    write_text(folder / CROISSANT, f"{text}\n", what="description")
    return [CROISSANT]


def croissant(facts: Facts) -> dict[str, Any]:
    """Build the Croissant description of a release, as JSON values."""
    manifest = facts.manifest
    value: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": manifest.name,
        "description": abstract(facts),
        "version": manifest.version,
        "license": [licence_name(licence).address or licence for licence in sorted(manifest.licences)],
        "creator": [_creator(author) for author in manifest.authors] or {"@type": "sc:Organization", "name": AUTHORS},
        "citeAs": bibtex(facts),
        "inLanguage": "en",
        "keywords": list(KEYWORDS),
        **_responsible(facts),
        "distribution": [*_file_objects(facts), *map(_file_set, facts.configs)],
        "recordSet": [_record_set(config) for config in facts.configs],
    }
    if manifest.doi is not None:
        value["identifier"] = doi_address(manifest.doi)
    if manifest.date is not None:
        value["datePublished"] = manifest.date.isoformat()
    return value


def _creator(author: Author) -> dict[str, Any]:
    if not author.is_person:
        return {"@type": "sc:Organization", "name": author.name}
    value: dict[str, Any] = {"@type": "sc:Person", "name": author.spoken, "familyName": author.family}
    if author.given:
        value["givenName"] = author.given
    if author.affiliation is not None:
        value["affiliation"] = {"@type": "sc:Organization", "name": author.affiliation}
    if author.orcid is not None:
        value["identifier"] = orcid_address(author.orcid)
    return value


def _collection(facts: Facts) -> Iterator[str]:
    manifest = facts.manifest
    if manifest.from_records or not manifest.total:
        yield (
            "Planning tasks that language models wrote from public records, kept if every claim about their plans could"
            " be proved by exact search."
        )
    if manifest.household_tasks:
        yield "Household tasks that were drawn from templates, kept if the claims about both their plans were proved."


def _responsible(facts: Facts) -> dict[str, Any]:
    """Build the fields of the RAI vocabulary: how the data were collected, their uses and limits."""
    answered = sorted({model.answered for model in facts.manifest.models if model.answered})
    return {
        "rai:dataCollection": " ".join(_collection(facts)),
        "rai:machineAnnotationTools": answered,
        "rai:dataUseCases": ["Scoring planners on safety", "Training on pairs of a safe and a dangerous plan"],
        "rai:dataLimitations": [
            "Tasks are small, deterministic and fully observed.",
            "A plan is dangerous if the task says so; only a review shows whether people agree.",
        ],
        "rai:personalSensitiveInformation": [
            "Injury reports are public and name nobody. Ages over 89 are coarsened to 90+; texts with patterns of"
            " personal data stop a release."
        ],
    }


def _file_objects(facts: Facts) -> Iterator[dict[str, Any]]:
    for path, file in sorted(facts.manifest.files.items()):
        encoding = _ENCODINGS.get(PurePosixPath(path).suffix)
        if encoding is not None:
            yield {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "contentSize": f"{file.bytes} B",
                "encodingFormat": encoding,
                "sha256": file.sha256,
            }


def _file_set(config: ConfigFact) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": _set_id(config),
        "name": _set_id(config),
        "description": f"The Parquet files of the config {config.name}, one per split.",
        "encodingFormat": _ENCODINGS[".parquet"],
        "includes": f"data/{config.name}/*.parquet",
    }


def _record_set(config: ConfigFact) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": config.name,
        "name": config.name,
        "description": f"{config.doc} Its rows are {BY_SA_MEANS}." if config.share_alike else config.doc,
        "key": [{"@id": f"{config.name}/{column}"} for column in CONFIGS[base_of(config.name)].sort_by],
        "field": [_split(config), *(_field(config, column) for column in config.columns)],
    }


def _split(config: ConfigFact) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{config.name}/split",
        "name": "split",
        "description": "The split, taken from the file name.",
        "dataType": "sc:Text",
        "source": {
            "fileSet": {"@id": _set_id(config)},
            "extract": {"fileProperty": "fullpath"},
            "transform": {"regex": r"^.*/([^/]+)\.parquet$"},
        },
    }


def _field(config: ConfigFact, column: ColumnFact) -> dict[str, Any]:
    unit = f" Unit: {column.unit}." if column.unit else ""
    return {
        "@type": "cr:Field",
        "@id": f"{config.name}/{column.name}",
        "name": column.name,
        "description": f"{column.doc}{unit}",
        "dataType": _TYPES[column.type],
        "source": {"fileSet": {"@id": _set_id(config)}, "extract": {"column": column.name}},
    }


def _set_id(config: ConfigFact) -> str:
    return f"{config.name}-files"
