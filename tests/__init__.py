"""The tests; a package, since a checkout of Megatron-LM on the path has a package of this name too."""
