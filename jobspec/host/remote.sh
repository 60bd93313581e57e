# What a machine at the other end of a connection is asked; for any POSIX sh, with coreutils and grep.
#
# `mark` is set before this is read: a word that no answer holds. Standard output and standard error of a question
# end with it, on a line of its own.
end() {
  printf '\n%s>%s\n' "$mark" "$1"
  printf '\n%s>\n' "$mark" >&2
}

# run TIMEOUT_OPTIONS SECONDS PROGRAM [WORD]...: 240 where there is no such program, 124 or 137 where its time was up.
run() {
  run_options=$1 run_seconds=$2
  shift 2
  command -v "$1" >/dev/null 2>&1 || return 240
  # shellcheck disable=SC2086 # options are several words
  timeout $run_options "$run_seconds" "$@"
}

# tell_and_run MARK SECONDS PROGRAM [WORD]...: as `run`, and first its process group, for whoever has to end it.
tell_and_run() {
  command -v "$3" >/dev/null 2>&1 || return 240
  # shellcheck disable=SC2016 # for the inner shell
  sh -c 'printf "%s#%s\n" "$0" "$$" >&2; exec timeout -k 5 "$@"' "$@"
}

# piece PATH START LENGTH: size and error on a line, then bytes; a negative START counts from the end.
piece() {
  if ! size=$(LC_ALL=C stat -L -c %s -- "$1" 2>&1); then
    printf '0 %s\n' "${size##*: }"
  elif [ -d "$1" ]; then
    printf '0 Is a directory\n'
  elif [ ! -r "$1" ]; then
    printf '0 Permission denied\n'
  else
    start=$2
    [ "$start" -ge 0 ] || start=$((size + start))
    [ "$start" -ge 0 ] || start=0
    printf '%s %s\n' "$size" "$start"
    tail -c "+$((start + 1))" -- "$1" | head -c "$3"
  fi
}

# pieces LENGTH [PATH START]...: each ends with the mark.
pieces() {
  length=$1
  shift
  while [ $# -gt 1 ]; do
    piece "$1" "$2" "$length"
    printf '\n%s|\n' "$mark"
    shift 2
  done
}

# ends LENGTH PATTERN [PATH]...: of the last bytes of each file the last lines with a pattern, behind its size.
ends() {
  length=$1 pattern=$2
  shift 2
  for path in "$@"; do
    if size=$(stat -L -c %s -- "$path" 2>/dev/null) && [ -r "$path" ]; then
      printf '%s 0\n' "$size"
      tail -c "$length" -- "$path" | LC_ALL=C grep -aE -e "$pattern" | tail -n 3
    else
      printf '0 No such file or directory\n'
    fi
    printf '\n%s|\n' "$mark"
  done
}

# put PATH MODE: write standard input to a file, whole or not at all; as of a file that a shell makes.
put() {
  new=$(mktemp "${1%/*}/.jobspec.XXXXXXXXXX") || return
  if cat >"$new" && chmod "$2" "$new" && mv -f -- "$new" "$1"; then return; fi
  rm -f -- "$new"
  return 1
}

# kind PATH: what is there.
kind() {
  if [ -d "$1" ]; then
    echo folder
  elif [ -f "$1" ]; then
    echo file
  elif [ -e "$1" ]; then
    echo other
  elif [ -L "$1" ]; then
    echo dangling
  fi
}

# values NAME...: those of the variables that are set and not empty.
values() {
  for name in "$@"; do
    if [ -n "$(printenv "$name")" ]; then echo "$name"; fi
  done
}

# probe FOLDER: make a file there, and remove it.
probe() {
  new=$(mktemp "${1%/}/.jobspec-doctor.XXXXXXXXXX") && rm -f -- "$new"
}
