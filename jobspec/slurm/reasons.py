"""Why a job waits or has ended, in plain words, from Slurm's reason codes."""

from __future__ import annotations

import re

# Slurm, src/common/job_state_reason.c, and job_reason_string of older ones.
_WORDS = {
    "None": "",
    "Priority": "other jobs have a higher priority",
    "Dependency": "another job has to end first",
    "DependencyNeverSatisfied": "the job that it waits for has not ended as wanted: it will never start",
    "Resources": "not enough nodes are free yet",
    "PartitionNodeLimit": "it asks for more nodes than the partition allows",
    "PartitionTimeLimit": "it asks for more time than the partition allows",
    "PartitionDown": "the partition is down",
    "PartitionInactive": "the partition takes no jobs to start",
    "PartitionConfig": "it asks for what the partition does not allow",
    "JobHeldAdmin": "an administrator holds it",
    "JobHeldUser": "it is held: `scontrol release` lets it go",
    "JobHoldMaxRequeue": "it was started again too often, and is held: `scontrol release` lets it go",
    "BeginTime": "its earliest time has not come; after a restart Slurm waits two minutes",
    "Licenses": "a licence is not free",
    "Reservation": "its reservation has not begun",
    "ReservationDeleted": "its reservation was deleted",
    "ReservationInvalid": "its reservation does not exist any more",
    "ReqNodeNotAvail": "a node that it needs is down, drained or reserved",
    "NodeDown": "a node of it went down",
    "BadConstraints": "no node has what it asks for",
    "Constraints": "no node has what it asks for",
    "SystemFailure": "Slurm itself failed",
    "JobLaunchFailure": "its script could not be started: a bad node, or a file system that is not there",
    "launch_failed_requeued_held": "its script could not be started, and it is held: look at the node",
    "NonZeroExitCode": "it ended with an exit code that is not zero",
    "RaisedSignal": "a signal ended it",
    "TimeLimit": "it reached its time limit",
    "InactiveLimit": "it was inactive for too long",
    "DeadLine": "it could not end before its deadline",
    "OutOfMemory": "it used more memory than it asked for",
    "MaxMemPerLimit": "it asks for more memory than is allowed",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
    "AccountNotAllowed": "its account may not use the partition",
    "QOSNotAllowed": "its QOS may not be used in the partition",
    "QOSUsageThreshold": "its account uses too much for the QOS",
    "AccountingPolicy": "a limit of the accounts",
    "Cleaning": "its last run is still being cleaned up",
    "Prolog": "the nodes are being prepared",
    "JobArrayTaskLimit": "as many tasks of the array run as may at once",
    "SchedDefer": "the scheduler looks at it later",
    "FrontEndDown": "no front end is up",
    "FedJobLock": "the clusters are choosing where it runs",
    "MaxPoweredUpNodes": "as many nodes are switched on as may be",
    "MpiPortsBusy": "the ports of MPI are taken on its nodes",
    "NvidiaImexChannels": "no channel of NVLink over nodes (IMEX) is free",
    "BurstBufferResources": "the burst buffer has no room",
    "BurstBufferStageIn": "the burst buffer is being filled",
    "BurstBufferOperation": "the burst buffer failed",
    "RESIZING": "its size changes",
}

_LIMIT = re.compile(
    r"(?P<who>QOS|Assoc(?:iation)?|)(?P<kind>Grp|Max|Min|)"
    r"(?P<what>C[Pp][Uu]|GRES|Mem(?:ory)?|Nodes?|Jobs?|SubmitJobs?|Wall(?:Duration)?|Energy|BB|License|Billing|"
    r"Unknown|Resource|Time)"
    r"(?P<run>(?:Run)?(?:Minutes|Mins))?(?P<per>Per(?:Job|User|Node|Account))?(?:Limit|NotSatisfied)?"
)
_WHAT = {
    "cpu": "CPUs", "gres": "GPUs (GRES)", "mem": "memory", "memory": "memory", "node": "nodes", "nodes": "nodes",
    "job": "running jobs", "jobs": "running jobs", "submitjob": "submitted jobs", "submitjobs": "submitted jobs",
    "wall": "time", "wallduration": "time", "time": "time", "energy": "energy", "bb": "burst buffer",
    "license": "licences", "billing": "billing units", "unknown": "a resource", "resource": "resources",
}  # fmt: skip
_WHOSE = {"QOS": "the QOS", "Assoc": "the account", "Association": "the account", "": "the account"}
_PER = {"PerJob": " a job", "PerUser": " a user", "PerNode": " a node", "PerAccount": " an account"}


def in_words(reason: str) -> str:
    """Return what a reason means, empty for none; one that is not known is returned as Slurm says it."""
    # Some carry details: `ReqNodeNotAvail, UnavailableNodes:node[1-4]`.
    code, _, detail = reason.partition(",")
    said = _WORDS.get(code)
    if said is None:
        said = _limit(code)
    if said is None:
        return reason
    nodes = detail.strip(" _").removeprefix("UnavailableNodes:") if "UnavailableNodes:" in detail else ""
    return f"{said}: {nodes}" if nodes else said


def _limit(code: str) -> str | None:
    found = _LIMIT.fullmatch(code)
    if found is None:
        return None
    what = _WHAT[found["what"].lower()] + (" times minutes" if found["run"] else "")
    whose = _WHOSE[found["who"]]
    if found["kind"] == "Min":
        return f"{whose} wants more {what} than it asks for"
    if found["kind"] == "Max" and found["per"] in ("PerJob", "PerNode"):
        return f"it asks for more {what} than {whose} allows{_PER[found['per']]}"
    return f"{whose}'s limit of {what}{_PER.get(found['per'] or '', '')} is reached"
