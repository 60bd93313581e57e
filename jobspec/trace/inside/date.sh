#!/bin/sh
# A clock that stands still: the same script gives the same trace.
for word do
  case $word in
    -d* | --d* | -r* | --r* | -f* | --file* | -s* | --s*) exec @REAL@/date "$@" ;;
  esac
done
exec @REAL@/date -d '2026-01-01 00:00:00' "$@"
