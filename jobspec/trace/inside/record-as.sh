#!/bin/sh
# Writes down a program that is not on this machine; its name is the first word.
JOBSPEC_TRACE_AS=1 exec @ROOT@/bin/record "$@"
