#!/bin/sh
# A stand-in for one of Slurm's clients.
exec @PYTHON@ -I -S @ROOT@/lib/start.py "${0##*/}" "$@"
