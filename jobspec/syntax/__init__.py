"""From bytes to a tree of nodes with positions: YAML 1.2 core."""
