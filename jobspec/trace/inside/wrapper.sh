#!/bin/sh
# A stand-in for a program that starts another one. One that is only recorded is recorded with it, any other one runs.
@ROOT@/bin/record-as "$0" "$@"
for word do
  case $word in
    -* | profile | [0-9]*) ;;
    *)
      if [ -e "@ROOT@/bin/${word##*/}" ]; then exit 0; fi
      if command -v -- "$word" >/dev/null; then exec "$@"; fi
      ;;
  esac
  shift
done
exit 0
