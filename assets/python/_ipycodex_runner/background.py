"""Requests about a cell in the background, to the process at the prompt and to the branch that runs the cell.

In: requests `background`: `digest`, `pack` and `return` to a branch; at the prompt `ready` (is there a checkpoint of
this moment), `base`, `plan`, `unpack` and `forget`. Out: answers. Invariant: names change in `unpack` alone, all or
none. Absent on purpose: the hand-over (`handoff`), and what differs (`merge`).
"""

import json
import os
from time import monotonic, sleep

from . import forks, merge

PATIENCE = 600  # seconds for the digests of what both began with: it may hold gigabytes


def answer(request, server):
    return {"background": globals()["answer_" + request["op"]](request, server)}


def answer_ready(_request, server):
    """Makes a checkpoint of this moment where there is none; answers why there is none."""
    there = server.checkpointer
    if there is None:
        return {"why": "no checkpoints are kept: `%ipycodex checkpoints 10` keeps ten"}
    if not hasattr(there, "lock"):
        there = server.checkpointer = there.load(server)
    return {"why": there.make_sure()}


def answer_base(request, server):
    """Has the copy of the state that both began with write its digests; does not wait for them."""
    base = server.checkpointer.bases.get(request["branch"])
    if base is None:
        return {"why": "the state that both began with is not there any more"}
    try:
        while forks.receive(base.link, 0) is not None:
            pass  # it has answered before
        forks.send(base.link, {"digest": request["path"]}, True, forks.LOOK)
    except forks.Gone:
        return {"why": "the copy of the state that both began with has ended"}
    return {}


def answer_digest(request, server):
    base = read(request["base"], PATIENCE)
    theirs = merge.digest_names(server.engine, base=base)
    merge.write_digests(theirs, request["path"])
    return {"rows": rows_of(merge.plan(base, theirs, base))}


def answer_plan(request, server):
    base, theirs = read(request["base"]), read(request["theirs"])
    ours = merge.digest_names(server.engine, base=base)
    rows = merge.plan(base, theirs, ours)
    changed = [
        name
        for name in sorted(base)
        if merge.compare(base[name], theirs.get(name)) is None and merge.compare(base[name], ours.get(name)) is not None
    ]
    return {"rows": rows_of(rows), "shared": merge.find_shared(base, theirs, ours), "outdated": changed}


def read(path, patience=0):
    """The digests that another process writes."""
    until = monotonic() + patience
    while not os.path.exists(path) and monotonic() < until:
        sleep(0.01)
    with open(path) as file:
        return json.load(file)


def rows_of(plan):
    return [
        {
            "name": row["name"],
            "change": row["branch"] or "changed",
            "conflict": row["outcome"] == "conflict",
            "refused": row.get("why"),
            "theirs": row.get("now", ""),
            "ours": row.get("mine", ""),
        }
        for row in plan
    ]


def answer_pack(request, server):
    path = request["path"]
    if os.path.exists(path):
        os.unlink(path)  # of a merge that was stopped
    told = merge.pack(server.engine, request["names"], request["shared"], path, request["outdated"])
    return {"refused": told["refused"], "olds": told["outdated"]}


def answer_unpack(request, server):
    server.checkpointer.on_begin("unpack", request)
    try:
        names = merge.unpack(server.engine, request["path"], request["renames"], request["deleted"])
        return {"names": names}
    finally:
        server.checkpointer.on_end()


def answer_return(_request, server):
    server.checkpointer.return_to_prompt()
    return {}


def answer_forget(request, server):
    server.checkpointer.forget(request["branch"])
    return {}
