"""What is known of a script without running it is what bash makes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jobspec.importer.holes import Holes
from jobspec.importer.report import Report
from jobspec.importer.shell_tree import mark_placeholders
from jobspec.importer.state import State
from jobspec.importer.statements import Follower

# Each prints its result with the command `show`, and none of it depends on the machine.
SNIPPETS = [
    'A=1; show "$A" ${A} "${A}b" $A$A',
    'show "${X:-default}" "${X-unset}" "${X:=set}" "$X" "${X:+given}" "${Y:+nothing}"',
    'P=/a/b/c.tar.gz; show "${P%.gz}" "${P%%.*}" "${P#*/}" "${P##*/}" "${#P}"',
    'S="a b a"; show "${S/a/x}" "${S//a/x}" "${S// /,}" "${S/#a/y}" "${S/%a/z}" "${S:2}" "${S:0:3}" "${S^^}" "${S,,}"',
    'A=(one "two words" three); A+=(four); show "${A[@]}" "${#A[@]}" "${A[1]}" "${A[*]}" "${!A[@]}"',
    'A=(); show begin "${A[@]}" end "${A[*]}"',
    'A=(a b); B=("${A[@]}" c); A[3]=d; show "${B[@]}" "${A[3]}" "${B[-1]}"',
    'W="a  b   c"; show $W "$W"',
    "N=7; show $((N * 2 + 1)) $((N / 2)) $((N % 4)) $((-N / 2)) $((N > 5 ? 10 : 20)) $(( (N + 1) * 2 )) $((2 ** 5))",
    "N=7; A=(3 4); show $(($N * 2)) $((${N} + ${#A[@]})) $((A[1] - ${A[0]})) $(($(echo 5) % 3))",
    'N=6; [ $((N % 4)) -eq 2 ] && ((N > 5)) && show $((N+=1)) $N $((N--)) "$N"',
    "N=8; show $((10#$N + 1)) $((10#7))",
    "N=0; ((N++)); ((N += 5)); N=$((N - 1)); show $N $((0x10)) $((N == 5 && N < 9))",
    'for i in 1 2 3; do show "$i"; done',
    'for i in {1..4}; do [ $i -eq 2 ] && continue; [ $i -gt 3 ] && break; show "$i"; done',
    'for ((i = 0; i < 3; i++)); do show "$i"; done',
    'i=0; while [ $i -lt 3 ]; do i=$((i + 1)); show "$i"; done',
    'i=3; until ((i == 0)); do show "$i"; i=$((i - 1)); done',
    'for i in $(seq 1 3) $(seq 0 5 10); do show "$i"; done',
    'for X in "a,1" "b,2"; do IFS=, read -r L R <<<"$X"; show "$L" "$R"; done',
    'IFS=: read -r -a PARTS <<<"x:y:z"; show "${PARTS[@]}"',
    "read -r -d '' TEXT <<'EOF' || true\nline $one\n  two\nEOF\nshow \"$TEXT\"",
    'V=5; read -r -d "" TEXT <<EOF || true\nvalue $V \\$V\nEOF\nshow "$TEXT"',
    'T=$(cat <<"EOF"\nas $it is\nEOF\n); show "$T"',
    "case abc in a*) show first ;; *) show other ;; esac; case x in a | x) show either ;; esac",
    'case "7" in [0-9]) show digit ;; esac; case "" in "") show empty ;; *) show full ;; esac',
    'if [ -z "$UNSET" ] && [[ abc == a* ]]; then show yes; else show no; fi',
    'if [ "a" = "b" ]; then show 1; elif [[ abc =~ ^a.c$ ]]; then show 2; else show 3; fi',
    "[ 3 -gt 2 -a 1 -lt 2 ] && show and; [ 1 = 2 -o 2 = 2 ] && show or; [ ! 1 = 2 ] && show not",
    "[[ ! a == b && (c == d || e == e) ]] && show grouped",
    'f() { local x="$1"; shift; show "$x" "$#" "$@"; }; f a "b c" d',
    "g() { return 0; show never; }; g; show after",
    'show "$(echo "a   b" | tr " " "_")" "$(echo a-b-c | cut -d- -f2)" "$(basename /x/y.sh .sh)" "$(dirname /x/y.sh)"',
    "show \"$(echo 'a  b   c' | sed 's/  \\+/ /g')\" \"$(printf '%03d-%s' 7 x)\" \"$(echo -n done)\"",
    "show $'tab\\there' 'single \"quotes\"' \"double 'quotes' \\\" \\$ \\`\" a\\ b",
    'A="x \\\n  y"; show "$A" $A',
    'CMD="show"; CMD="$CMD one"; CMD+=" two"; $CMD three',
    'B="a \'b c\'"; eval "show $B"',
    'NAME=VALUE; REF=NAME; show "${!REF}"',
    'printf -v Q \'%q\' "it\'s"; eval "show $Q"; printf -v N \'%02d\' 5; show "$N"',
    '(A=inside; show "$A"); show "${A:-outside}"',
    "A=1; { A=2; }; show $A; true && show t; false || show f; ! false && show n",
    'CP=4; show $([ "$CP" -gt 1 ] && echo $((CP * 2)) || echo 1)',
    'set -- p q r; show "$1" "${2}" "$#" "${@}"',
    'A=a; show "${A}_$A.b" $A/$A ${A}${A}',
    'T="x y"; A=($T "$T"); show "${#A[@]}"',
    'export E=1 F="2 3"; declare -x G=4; show "$E" "$F" "$G"',
    'A="1,2,3"; IFS=, ; set -- $A; IFS=" "; show "${A//,/ }"',
    'A=abc; H=${A%%c*} I=3\nshow "$H" $I; J=5 \\\n show "${J:-unset}"',
    'L="a[1-3,5]"; E="${L#*[}"; show "${L%%[*}" "${E%%]*}" "${E%%-*}"',
    'show "a" \\\n  "b" \\\n',
    'L=1 T=2; show "${V:-$((L + T * 3))}" ${W:-$((L))} "${X:-a $((1+2)) b $L c}" "${Y:-$(echo hi) $(echo ho)}"',
    "show '<start_of_turn>user' \"a <image> b\"",
    'A=("--a b" c "d  e"); show ${A[@]} "${A[@]}" x${A[@]}y; E=("" f); show ${E[@]} "${E[@]}"',
    "mapfile -t L < <(true); show x",
]


def followed(script: str) -> list[list[str]]:
    """Return the words of each `show` of a script that is followed."""
    holes, report = Holes(), Report()
    state = State(holes, report, {})
    Follower(state).follow(mark_placeholders(script, holes))
    return [[holes.show(word) for word in call.argv[1:]] for call in state.calls if call.argv[0] == "show"]


def run(script: str, folder: Path) -> list[list[str]]:
    """Return the same of a script that bash runs."""
    shown = 'show() { printf "%s\\036" "$@"; printf "\\035"; }\n'
    done = subprocess.run(
        ["bash", "-c", shown + script], capture_output=True, text=True, cwd=folder, env={"PATH": "/usr/bin:/bin"}
    )
    return [call.split("\036")[:-1] for call in done.stdout.split("\035")[:-1]]


@pytest.mark.parametrize("script", SNIPPETS)
def test_followed_as_run(script: str, tmp_path: Path) -> None:
    """A script that is followed calls what it calls when bash runs it, with the same words."""
    assert followed(script) == run(script, tmp_path)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('show "$SLURM_JOB_ID"', ["$SLURM_JOB_ID"]),
        ('show "/a/$(date +%s)/b"', ["/a/$(date +%s)/b"]),
        ("show <YOUR_ACCOUNT>", ["<YOUR_ACCOUNT>"]),
        ('show "${SLURM_JOB_NUM_NODES:-8}"', ["8"]),
        ('show "${SLURM_JOB_ID:-manual}"', ["$SLURM_JOB_ID"]),
        ('show "$NOWHERE/x"', ["$NOWHERE/x"]),
        ("show ~/x", ["$HOME/x"]),
        ('show "%j_$DATE.log" a%j_$DATE.log', ["%j_$DATE.log", "a%j_$DATE.log"]),
    ],
)
def test_what_is_not_known_stays_a_hole(script: str, words: list[str]) -> None:
    """What only the run knows is kept in place and under its own name."""
    assert followed(script) == [words]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("if [ -f /x ]; then show there; else show missing; fi", [["missing"]]),
        ("if [ ! -d /x ]; then show missing; fi", [["missing"]]),
        ('if [ -z "$IMAGE" ]; then echo no; exit 1; fi; show "$IMAGE"', [["$IMAGE"]]),
        ('[ -n "$IMAGE" ] || { echo no; exit 1; }; show "$IMAGE"', [["$IMAGE"]]),
        (': "${IMAGE:?say it}"; show "$IMAGE"', [["$IMAGE"]]),
        ('if [ "$SLURM_JOB_NUM_NODES" -ne 4 ]; then exit 1; fi; show on', [["on"]]),
        ("cd /x || exit 1; show on", [["on"]]),
        ("some-command; R=$?; if [ $R -ne 0 ]; then exit $R; fi; show on", [["on"]]),
        ("exit 0; show never", []),
    ],
)
def test_a_first_run_that_goes_well(script: str, words: list[list[str]]) -> None:
    """Where only the run decides, no file is there yet, checks pass and commands succeed."""
    assert followed(script) == words
