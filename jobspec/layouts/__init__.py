"""What a layout comes to, and layouts that do: `jobspec plan`.

`ranks` says which ranks work together and `places` which of them share a node; `numbers` puts together what is known of
a launch, which `tables`, `as_json` and `picture` show. `dealing`, `cost` and `search` find layouts, `suggest` tries
them on the manifest itself, and `edit` writes one into its text.
"""
