"""The command line: what can be said. What it does stands in ``jobspec.commands``, imported when it is asked for."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib import import_module

from jobspec import __version__

#: Exit codes beside 0 and argparse's 2: errors found, and a bug of jobspec.
FOUND, BUG = 1, 70

# As in jobspec.diagnostics.render, which costs an import; a test holds both equal.
_FORMATS = ("human", "concise", "json", "sarif", "github")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jobspec",
        description="Compile manifests of multi-node Megatron training jobs into Slurm scripts.",
        epilog="Exit codes: 0 clean, 1 errors found, 2 wrong usage, 70 a bug of jobspec.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"jobspec {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show the Python traceback of a bug of jobspec")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    compile_ = verbs.add_parser("compile", help="compile manifests into scripts", allow_abbrev=False)
    _add_manifests(compile_)
    compile_.add_argument("--target", metavar="NAME", help="kind of script, instead of the manifest's own")
    _add_point(compile_)
    compile_.add_argument("-o", "--output", metavar="FILE|DIR|-", help="where to write; default: standard output")
    compile_.add_argument(
        "--emit",
        choices=("script", "rank", "ir", "spec"),
        default="script",
        help="the script, the program of a rank, the intermediate representation, or the resolved job",
    )
    compile_.add_argument("--check", action="store_true", help="write nothing; compare with the file of -o")

    check = verbs.add_parser("check", help="check manifests, cluster files and model files", allow_abbrev=False)
    _add_manifests(check)

    _add_import(verbs.add_parser("import", help="make a manifest of a command or a script", allow_abbrev=False))

    explain = verbs.add_parser("explain", help="explain a code of a diagnostic", allow_abbrev=False)
    explain.add_argument("code", nargs="?", metavar="CODE", help="for instance JS201, or its name")
    explain.add_argument("--all", action="store_true", help="explain all codes")

    diagnose = verbs.add_parser("diagnose", help="find the cause of a failure in a job's log", allow_abbrev=False)
    _add_diagnose(diagnose)

    _add_losses(verbs.add_parser("losses", help="show how trainings went, from their logs", allow_abbrev=False))

    _add_plan(verbs.add_parser("plan", help="show what a layout comes to, and suggest others", allow_abbrev=False))

    trace = verbs.add_parser("trace", help="show what a manifest or a script would run", allow_abbrev=False)
    trace.add_argument("path", metavar="MANIFEST|SCRIPT", help="a YAML file, a shell script, or -")
    trace.add_argument("--format", choices=("tree", "table", "json"), default="tree", help="default: tree")
    trace.add_argument(
        "--rank", dest="ranks", type=int, metavar="N", action="append", default=[], help="only this rank"
    )
    _add_run(trace)

    diff = verbs.add_parser("diff", help="show what two manifests or scripts do differently", allow_abbrev=False)
    diff.add_argument("a", metavar="A", help="a YAML file, a shell script, or -")
    diff.add_argument("b", metavar="B")
    diff.add_argument("--format", choices=("human", "json"), default="human", help="default: human")
    diff.add_argument(
        "--ignore", metavar="PART[.NAME]", action="append", default=[], help="such as output or environment.SEED"
    )
    diff.set_defaults(ranks=[])
    _add_run(diff)

    _add_submit(verbs.add_parser("submit", help="submit manifests as jobs of Slurm", allow_abbrev=False))
    status = verbs.add_parser("status", help="show how jobs are", allow_abbrev=False)
    _add_jobs(status)
    status.add_argument("--watch", action="store_true", help="show it anew while something changes")
    status.add_argument("--all", action="store_true", help="also older jobs of a name or manifest")
    logs = verbs.add_parser("logs", help="show the log of a job", allow_abbrev=False)
    _add_jobs(logs)
    logs.add_argument(
        "-f", "--follow", action="store_true", help="go on until the job has ended, also when it restarts"
    )
    logs.add_argument("-n", "--lines", metavar="N", default="100", help="the last N lines, or `all`; default: 100")
    logs.add_argument("--rank", type=int, metavar="N", help="only lines that say that they are of this rank")
    cancel = verbs.add_parser("cancel", help="end jobs", allow_abbrev=False)
    _add_jobs(cancel)
    cancel.add_argument("-y", "--yes", action="store_true", help="do not ask")
    _add_init(verbs.add_parser("init", help="write a cluster file, or a first manifest", allow_abbrev=False))
    _add_doctor(verbs.add_parser("doctor", help="check a site against its cluster file", allow_abbrev=False))

    verbs.add_parser("targets", help="list the kinds of script", allow_abbrev=False)

    schema = verbs.add_parser("schema", help="print a JSON schema, for an editor", allow_abbrev=False)
    schema.add_argument(
        "name",
        nargs="?",
        default="job",
        choices=(
            *("job", "cluster", "model", "diagnostics", "diagnosis", "diff", "doctor", "import", "jobs", "losses"),
            *("plan", "record", "signatures", "trace"),
        ),
    )
    return parser


def _add_point(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--point", metavar="NAME", help="only this point of a sweep")


def _add_submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifests", nargs="+", metavar="MANIFEST", help="a YAML file, or - for standard input")
    parser.add_argument("--target", metavar="NAME", help="kind of script, instead of the manifest's own")
    _add_point(parser)
    parser.add_argument("--missing", action="store_true", help="of a sweep only what has no job, or one that failed")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and ask Slurm whether it could")
    parser.add_argument("--chain", action="store_true", help="run each after the one before it has ended well")
    parser.add_argument("--dependency", metavar="WHAT", help="such as afterok:NAME; NAME is a job's name or ID")
    _add_host(parser)
    parser.add_argument(
        "--exclude", metavar="NODES", help="nodes to keep away from, such as node[03,07], besides its own"
    )
    parser.add_argument("--hold", action="store_true", help="submit it held: `scontrol release` lets it go")
    parser.add_argument("--again", action="store_true", help="also where the same is submitted already")
    parser.add_argument(
        "--timeout", type=_seconds, metavar="S", default=150, help="seconds to wait for sbatch; default: 150"
    )
    parser.add_argument("--format", choices=("human", "json"), default="human", help="default: human")
    _add_color(parser)


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="USER@LOGIN", help="the Slurm of another machine, over ssh")


def _add_color(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def _seconds(text: str) -> float:
    try:
        if 1 <= float(text) <= 3600:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text}: from 1 to 3600 seconds")


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add which jobs are meant, and how they are printed."""
    parser.add_argument("jobs", nargs="*", metavar="NAME|ID|MANIFEST", help="default: your jobs from manifests")
    _add_host(parser)
    parser.add_argument("--format", choices=("human", "json"), default="human", help="default: human")
    _add_color(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    """Add what is said of the run of a script in the sandbox."""
    parser.add_argument("--target", metavar="NAME", help="kind of script, instead of the manifest's own")
    _add_point(parser)
    parser.add_argument("--nodes", type=int, metavar="N", help="as `sbatch --nodes`; default: the script's")
    parser.add_argument("--all-ranks", action="store_true", help="run all ranks; default: those at the ends")
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="what the user's shell has set"
    )
    parser.add_argument(
        "--fake-file", metavar="PATH[=FILE]", action="append", default=[], help="a file, or folder/, that is there"
    )
    parser.add_argument("--chdir", metavar="DIR", help="where sbatch is called; default: the script's folder")
    parser.add_argument("--seconds", type=float, metavar="S", default=30, help="bound of the time; default: 30")
    parser.add_argument("--processes", type=int, metavar="N", default=512, help="bound of the processes; default: 512")
    parser.add_argument("--memory", type=int, metavar="MIB", default=2048, help="bound of the memory; default: 2048")
    parser.add_argument("--output", type=int, metavar="MIB", default=16, help="bound of what is printed; default: 16")
    parser.add_argument("--unsafe", action="store_true", help="run without a sandbox, where none can be made")
    parser.set_defaults(color="auto")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="+",
        metavar="COMMAND|FILE",
        help="a script and its arguments, - for standard input, or a command: one text, or its words after --",
    )
    parser.add_argument("--cluster", metavar="NAME|PATH", help="an existing cluster file; default: propose a new one")
    parser.add_argument("--nodes", type=int, metavar="N", help="run it on so many nodes; the layout stays")
    parser.add_argument("--time", metavar="TIME", help="the time limit, such as 4:00:00")
    parser.add_argument("--name", help="the job's name")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="a variable of the shell that would submit it"
    )
    parser.add_argument("-o", "--output", metavar="FILE|DIR", help="where to write; default: standard output")
    parser.add_argument("--force", action="store_true", help="overwrite what is there")
    parser.add_argument(
        "--verify", action="store_true", help="run script and manifest under stand-ins, and show what differs"
    )
    parser.add_argument("--format", choices=("human", "json"), default="human", help="how the report is printed")


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", metavar="MANIFEST", help="a YAML file, or - for standard input")
    parser.add_argument("--step", metavar="NAME", help="only this step")
    _add_point(parser)
    parser.add_argument("--suggest", action="store_true", help="find layouts that fit, the fastest first")
    parser.add_argument("--nodes", type=int, metavar="N", help="find layouts for this many nodes")
    parser.add_argument("--fewest", action="store_true", help="find layouts for the fewest nodes")
    parser.add_argument("--show", type=int, metavar="N", default=8, help="how many are shown; default: 8")
    parser.add_argument("--take", type=int, metavar="N", default=1, help="which one -o writes; default: 1, the best")
    parser.add_argument("-o", "--output", metavar="MANIFEST", help="write the manifest with a suggested layout")
    parser.add_argument("--svg", metavar="FILE", help="draw nodes, GPUs, groups and memory into a file")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    _add_color(parser)


def _add_losses(parser: argparse.ArgumentParser) -> None:
    columns = ("loss", "lr", "grad_norm", "time_ms", "tflops")
    parser.add_argument("logs", nargs="+", metavar="LOG", help="a file, also .gz or .zst, a folder, or -; one run each")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: table")
    parser.add_argument("--last", type=int, metavar="N", help="only the last N steps, in the table")
    parser.add_argument("--plot", action="store_true", help="draw instead of the table")
    parser.add_argument("--svg", metavar="FILE", help="draw into a file")
    parser.add_argument("--column", choices=columns, default="loss", help="what is drawn; default: loss")


def _add_diagnose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logs", nargs="*", metavar="LOG", help="a file, also .gz or .zst, a folder, or - (standard input)"
    )
    parser.add_argument("--format", choices=("human", "json"), default="human", help="how the diagnosis is printed")
    _add_color(parser)
    parser.add_argument("--manifest", metavar="FILE", help="point at the line of this manifest to change")
    parser.add_argument("--job", metavar="ID", help="ask sacct and scontrol for the job, and for its log")
    parser.add_argument("--signatures", metavar="FILE", action="append", default=[], help="messages of your own (JSON)")
    parser.add_argument("-v", "--verbose", action="store_true", help="work off the checklist for failed jobs")
    parser.add_argument("--list", action="store_true", help="list the failures that are known, as Markdown")


def _add_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the job's name; without it --cluster is written")
    parser.add_argument("--cluster", metavar="NAME|PATH", help="the cluster; alone: what Slurm says of this site")
    parser.add_argument("-o", "--output", metavar="FILE|-", help="default: NAME.yaml, or clusters/NAME.yaml")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there")
    parser.add_argument("--image", metavar="IMAGE", help="the container image")
    parser.add_argument("--logs", metavar="FOLDER", help="the log folder, which all nodes see")
    parser.add_argument("--gpus-per-node", type=int, metavar="N", help="GPUs of a node, where Slurm does not say it")
    _add_host(parser)
    job = parser.add_argument_group("of a manifest; on a terminal what is left out is asked")
    job.add_argument("--framework", choices=("bridge", "mlm"), help="default: bridge")
    job.add_argument("--task", choices=("pretrain", "sft", "lora", "dora", "import", "command"), help="what it does")
    job.add_argument("--model", metavar="NAME|PATH", help="a model file")
    job.add_argument("--recipe", metavar="NAME", help="a recipe of Megatron Bridge; default: the model's own")
    job.add_argument("--nodes", type=int, metavar="N", help="default: the recipe's, or as few as the job fits on")
    job.add_argument("--time", metavar="TIME", help="the time limit; default: 4:00:00, or the partition's")
    job.add_argument("--partition", metavar="NAME")
    job.add_argument("--data", metavar="NAME|PREFIX", help="a data set by name, or a path of indexed data")
    job.add_argument("--save", metavar="FOLDER", help="where checkpoints go; default: nothing is saved")
    job.add_argument("--pretrained", metavar="FOLDER", help="the checkpoint that a fine-tuning begins with")
    job.add_argument("--hf-model", metavar="NAME", help="the model on Hugging Face; default: the model file's")
    job.add_argument(
        "--command",
        dest="words",
        metavar="WORD",
        nargs=argparse.REMAINDER,
        help="of the task command; all that follows",
    )
    job.add_argument("--yes", action="store_true", help="ask nothing, also on a terminal")
    parser.set_defaults(color="auto")


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", nargs="?", metavar="MANIFEST", help="check what this job needs")
    parser.add_argument("--cluster", metavar="NAME|PATH", help="check a cluster file")
    _add_point(parser)
    parser.add_argument("--deep", action="store_true", help="start a short job that lets nodes tell what only they can")
    parser.add_argument("--nodes", type=int, metavar="N", help="nodes to look at; default: the manifest's, else 2")
    _add_host(parser)
    parser.add_argument("--wait", type=float, metavar="S", default=300, help="for the job to start; default: 300")
    parser.add_argument("--format", choices=("human", "json"), default="human", help="default: human")
    _add_color(parser)


def _add_manifests(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifests", nargs="+", metavar="MANIFEST", help="a YAML file, or - for standard input")
    parser.add_argument("--format", choices=_FORMATS, default="human", help="how diagnostics are printed")
    _add_color(parser)


def main() -> None:
    """Run the command line and end the process."""
    _open_missing_streams()
    # A reader that closes the pipe early (head) ends us as it ends any filter, without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    code = run(sys.argv[1:])
    sys.stderr.flush()
    # What a full disk kept in a buffer of standard output cannot be written, and Python would complain once more.
    os._exit(code)


def _open_missing_streams() -> None:
    """Open the null device where a standard stream is closed, so that no file takes its number."""
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # A closed standard output cannot be written to, and a script that nobody gets is an error.
            opened = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8"))  # noqa: SIM115 - for the whole process


def run(argv: list[str]) -> int:
    """Run a command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        code = _run_verb(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except OSError as error:
        return _say_os_error(error)
    except Exception as error:  # the last line of defence: a bug is reported, never a bare traceback
        return _say_bug(error, arguments)
    return code


def _run_verb(arguments: argparse.Namespace) -> int:
    verb = import_module(f"jobspec.commands.{arguments.command}")
    host = getattr(arguments, "host", None)
    if host is None:
        return int(verb.run(arguments))
    from jobspec.host import on_host

    return on_host(host, lambda: int(verb.run(arguments)))


def _say_os_error(error: OSError) -> int:
    where = f"{error.filename}: " if error.filename else "standard output: "
    sys.stderr.write(f"jobspec: error: {where}{error.strerror or error}\n")
    return FOUND


def _say_bug(error: Exception, arguments: argparse.Namespace) -> int:
    if arguments.traceback:
        import traceback

        traceback.print_exc()
    inputs = [word for name in ("manifests", "logs", "words") for word in getattr(arguments, name, ())]
    what = " ".join([arguments.command, *inputs])
    sys.stderr.write(
        f"jobspec: internal error JS900 in `jobspec {what}`: {type(error).__name__}: {error}\n"
        "This is a bug of jobspec, not of your manifest. Please report it with the output of --traceback.\n"
    )
    return BUG
