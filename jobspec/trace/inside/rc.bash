# What each bash of the sandbox begins with: folders and programs that are only on the cluster.
cd() {
  builtin cd "$@" 2>/dev/null && return
  if (($#)) && [[ ! -e ${!#} && ${!#} != -* ]]; then
    @REAL@/mkdir -p -- "${!#}" 2>/dev/null && printf '%s\0' "${!#}" >>@ROOT@/record/folders
  fi
  builtin cd "$@"
}
pushd() {
  builtin pushd "$@" 2>/dev/null && return
  if (($#)) && [[ ! -e ${!#} && ${!#} != [-+]* ]]; then
    @REAL@/mkdir -p -- "${!#}" 2>/dev/null && printf '%s\0' "${!#}" >>@ROOT@/record/folders
  fi
  builtin pushd "$@"
}
module() { @ROOT@/bin/record-as module "$@"; }
ml() { @ROOT@/bin/record-as ml "$@"; }
conda() { @ROOT@/bin/record-as conda "$@"; }
mamba() { @ROOT@/bin/record-as mamba "$@"; }
micromamba() { @ROOT@/bin/record-as micromamba "$@"; }
spack() { @ROOT@/bin/record-as spack "$@"; }
command_not_found_handle() { @ROOT@/bin/record-as "$@"; }
