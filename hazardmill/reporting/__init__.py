"""The parts that all reports share: tables, number formats, figures, and output to terminal, Markdown and HTML."""
