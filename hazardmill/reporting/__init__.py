"""What every report is made with: tables, number formats, drawing, and text for terminal, Markdown and HTML."""
