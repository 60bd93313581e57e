"""The meaning of a manifest: references resolved, defaults filled in, values typed."""
