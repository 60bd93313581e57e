"""What jobspec says about a manifest, and how it is printed."""
