"""JSON schemas: what is to be said about one value or one object."""
