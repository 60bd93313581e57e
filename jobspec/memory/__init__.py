"""How much memory of a GPU a job takes, from the facts of its model, its layout and its batch.

`shape` counts the parameters of a model, once; `stages` says which layers a GPU has; `states` and `activations` turn
both into bytes; `settings` reads out of a job what else decides them; `estimate` puts them together.
"""
