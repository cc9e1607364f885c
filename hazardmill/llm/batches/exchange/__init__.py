"""Exchange folders: rounds of requests as files, which anybody may answer, in one of two formats."""
