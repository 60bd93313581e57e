#!/bin/sh
# A stand-in for Python: recorded, and not run, but for a line of code whose output the script wants to have.
JOBSPEC_TRACE_AS=1 @ROOT@/bin/record "$0" "$@"
if [ "$1" = -c ] && [ -p /dev/stdout ]; then
  shift
  said=$(@PYTHON@ -I -S -c "$@" 2>/dev/null </dev/null) && printf '%s\n' "$said"
fi
exit 0
