"""Typed shell: words, commands and directives that print themselves quoted."""
