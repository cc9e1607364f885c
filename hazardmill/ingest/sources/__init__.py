"""Sources: what a source is, how all of them are found, and how they open and read files.

| module | what it holds |
| --- | --- |
| source | what a source is, and the bounds that all of them share |
| discovery | finding all sources |
| files | looking for input in a folder, which may contain anything |
| texts | text files, line by line or whole |
| streams | input that comes from a pipe |

A ``source.py`` imports everything it needs from here (docs/adding-a-source.md).
"""

from __future__ import annotations

from hazardmill.ingest.sources.discovery import SourceListing as SourceListing
from hazardmill.ingest.sources.discovery import find_sources as find_sources
from hazardmill.ingest.sources.discovery import list_sources as list_sources
from hazardmill.ingest.sources.discovery import load_source as load_source
from hazardmill.ingest.sources.files import InputFile as InputFile
from hazardmill.ingest.sources.files import InputFolder as InputFolder
from hazardmill.ingest.sources.files import InputRefusal as InputRefusal
from hazardmill.ingest.sources.files import find_files as find_files
from hazardmill.ingest.sources.files import list_folder as list_folder
from hazardmill.ingest.sources.files import walk as walk
from hazardmill.ingest.sources.source import Note as Note
from hazardmill.ingest.sources.source import Source as Source
from hazardmill.ingest.sources.texts import MAX_LINE as MAX_LINE
from hazardmill.ingest.sources.texts import SourceLine as SourceLine
from hazardmill.ingest.sources.texts import read_lines as read_lines
from hazardmill.ingest.sources.texts import read_text as read_text
from hazardmill.ingest.sources.texts import whole_file_problem as whole_file_problem
