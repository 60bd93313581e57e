# What a rank would find, once a node, in the container where there is one:
# bash -c THIS bash PROGRAM FIRST_NODE PORT TASKS [TARGET]...   (without a PROGRAM nobody meets)
program=$1 first=$2 port=$3 tasks=$4
shift 4
say() { printf '@jobspec %s %s\n' "$SLURMD_NODENAME" "$*"; }

say inside
if command -v uv >/dev/null; then say uv yes; else say uv no; fi
index=0
for target in "$@"; do
  if [[ -e $target ]]; then say target "$index" there; else say target "$index" missing; fi
  index=$((index + 1))
done
[[ -n $program ]] || exit 0
python=$(command -v python3 || command -v python) || {
  say meet no-python
  exit 0
}
exec "$python" -c "$program" "$first" "$port" "$tasks"
