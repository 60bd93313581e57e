# What a node of the job tells of itself, once a task: bash -c THIS bash PHASE FIRST_NODE NODES [KIND PATH]...
#
# PHASE is `write`, `see` or `tidy`, each a step of its own, since a step ends on all nodes before the next begins.
# KIND is `logs` (has to be there, and is written to), `cache` (is made where it is missing), `image` or `read`.
# A line of the answer is: @jobspec NODE WORD [VALUE]...
phase=$1 first=$2 nodes=$3
shift 3
me=$SLURMD_NODENAME
mark=.jobspec-doctor.$SLURM_JOB_ID

say() { printf '@jobspec %s %s\n' "$me" "$*"; }

# The folder that is written to: of a cache that is not there yet the nearest one above it.
writable_folder() {
  folder=$2
  if [[ $1 == cache ]]; then
    while [[ -n $folder && ! -e $folder ]]; do folder=${folder%/*}; done
  fi
}

write_path() {
  writable_folder "$@"
  if [[ ! -e $folder ]]; then
    say path "$index" missing
  elif [[ ! -d $folder ]]; then
    say path "$index" no-folder
  elif (: >"$folder/$mark.$me") 2>/dev/null; then
    say path "$index" written
  else
    say path "$index" read-only
  fi
}

read_path() {
  if [[ ! -e $2 ]]; then
    say path "$index" missing
  elif [[ ! -r $2 || (-d $2 && ! -x $2) ]]; then
    say path "$index" unreadable
  elif [[ -f $2 && $1 == image && $(head -c 4 -- "$2" 2>/dev/null | tr -d '\0') != hsqs ]]; then
    say path "$index" no-squashfs
  else
    say path "$index" readable
  fi
}

see_path() {
  writable_folder "$@"
  local other unseen=()
  for other in $nodes; do
    [[ -e $folder/$mark.$other ]] || unseen+=("$other")
  done
  say sees "$index" "${unseen[@]}"
}

# Ports that somebody listens on, of those that jobs meet on (15000 to 31999); proc(5), /proc/net/tcp: state 0A.
taken_ports() {
  local address state ports=() port
  while read -r _ address _ state _; do
    port=$((16#${address##*:}))
    [[ $state == 0A ]] && ((port >= 15000 && port < 32000)) && ports+=("$port")
  done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -v local_address)
  say taken "${ports[@]}"
}

if [[ $phase == write ]]; then
  say clock "$(date +%s.%N)"
  if ! command -v getent >/dev/null; then
    say resolve unknown
  elif getent hosts "$first" >/dev/null; then
    say resolve yes
  else
    say resolve no
  fi
  taken_ports
  # shellcheck disable=SC2046 # two numbers are two words
  say ephemeral $(cat /proc/sys/net/ipv4/ip_local_port_range 2>/dev/null)
fi
index=0
while (($# > 1)); do
  case $phase:$1 in
    write:logs | write:cache) write_path "$1" "$2" ;;
    write:*) read_path "$1" "$2" ;;
    see:logs | see:cache) see_path "$1" "$2" ;;
    tidy:logs | tidy:cache) writable_folder "$1" "$2" && rm -f -- "$folder/$mark.$me" ;;
  esac
  index=$((index + 1))
  shift 2
done
say ended "$phase"
