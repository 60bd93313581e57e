"""From a command or a script of somebody's to a manifest: read, folded to constants, recognised, written anew.

Nothing of the script is run. The order: ``shell_tree`` parses, ``statements`` follows the script with what can be known
of its variables and records the commands it would start, ``launches`` recognises those that start ranks, ``programs``,
``from_bridge`` and ``from_flags`` read their command lines, ``job`` makes a manifest of them, ``site`` leaves to the
cluster what is the site's, ``verdict`` checks the result, and ``report`` tells what became of the rest.
"""
