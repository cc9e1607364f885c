"""What a compiled household task remembers: rules and sub-goals as fluents, effects and conditions of a document."""
