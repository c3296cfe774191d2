"""What a search over levels chose: in words, as facts, and as a column whose records stand on several levels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from oboro.decide.lattice.objective import CellLoss
from oboro.decide.lattice.problem import Node, Problem
from oboro.decide.lattice.search import SearchResult
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.values import STAR, texts_of
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.decide.lattice.levels_by_class import Recoding
    from oboro.decide.lattice.search_progress import SearchProgress

__all__ = ["global_facts", "local_facts", "mixed", "no_levels", "progress", "runner_up", "warnings"]


def progress(step: str, so_far: SearchProgress) -> Message:
    """How far a search is, in words."""
    figures = {"step": step, "evaluated": so_far.evaluated, "settled": so_far.settled, "size": so_far.size}
    if so_far.loss is None:
        return Message("progress.search", **figures)
    if so_far.bound is None:
        return Message("progress.search_with_best", **figures, loss=so_far.loss)
    del figures["settled"]  # the gap tells more, and a terminal has little room
    return Message("progress.search_with_gap", **figures, loss=so_far.loss, bound=so_far.bound)


def warnings(problem: Problem, found: SearchResult) -> tuple[Message, ...]:
    """That the best node may not be the best of all; that the loss tells no choice from another."""
    told = () if found.stopped is None else (_unsure(found),)
    alike = isinstance(problem.loss, CellLoss) and problem.loss.geometric and problem.loss.scale == 0
    return (*told, Message("search.all_alike", loss=problem.loss.name)) if alike else told


def _unsure(found: SearchResult) -> Message:
    """Why the best node may not be the best of all, and how far that one can be."""
    assert found.best is not None
    why = Message(f"search.{found.stopped}", **({"size": found.size} if found.stopped == "size" else {}))
    if found.bound is None:
        return Message("search.best_so_far", why=why, loss=found.best.loss)
    told = Message("search.best_so_far_bounded", why=why, loss=found.best.loss, bound=found.bound)
    if found.stopped == "interrupt":
        return told
    return Message("search.with_hint", told=told, hint=Message(f"search.hint.{found.stopped}"))


def runner_up(node: Node) -> dict[str, Any]:
    """A node that was checked and is not the best; where its loss is not `exact`, it is at least so much."""
    gone = node.suppressed + node.extra
    return {"levels": list(node.levels), "loss": node.loss, "exact": node.settled, "suppressed": gone}


def mixed(column: Column, hierarchy: Hierarchy, recoded: Recoding, a: int) -> Column:
    """The column with each record on its own level; one look-up table over levels and codes."""
    level_of = np.array([*(node[a] for node in recoded.nodes), 0], dtype=np.uint8)[recoded.rows]
    used = [int(level) for level in np.unique(level_of[recoded.rows >= 0])]
    gone = recoded.rows < 0
    if len(used) <= 1:  # none: everybody is suppressed
        whole = hierarchy.generalize(column, *used or [0])
        return whole.where(gone, STAR) if gone.any() else whole
    labels = [pa.array(texts_of(hierarchy.levels[level].labels), pa.string()) for level in used]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in labels])])
    table = np.zeros((max(used) + 1, len(column.values)), dtype=np.uint32)
    for start, level in zip(starts, used, strict=False):
        table[level] = hierarchy.levels[level].table + np.uint32(start)
    out = Column(pa.concat_arrays(labels), table[level_of, column.codes]).tidy()
    return out.where(gone, STAR) if gone.any() else out


def local_facts(
    problem: Problem, recoded: Recoding, hierarchies: Mapping[str, Hierarchy], *, loss: str, k: int
) -> dict[str, Any]:
    """What local recoding chose: for each column how many records stand on each level."""
    rows = np.bincount(recoded.rows[recoded.rows >= 0], minlength=len(recoded.nodes))
    chosen: dict[str, Any] = {}
    for a, (name, hierarchy) in enumerate(hierarchies.items()):
        height = hierarchy.height
        levels = np.array([node[a] for node in recoded.nodes], dtype=np.int64)
        counts = np.bincount(levels, weights=rows, minlength=height + 1).astype(int)
        chosen[name] = {"records": counts.tolist(), "of": height}
    return {
        "k": k,
        "recoding": "local",
        "levels": chosen,
        "loss": {"name": loss, "value": recoded.loss},
        "suppressed": {"records": recoded.suppressed, "limit": problem.limit, "of": problem.rows},
        "lattice": {"nodes": problem.lattice.size, "used": len(recoded.nodes)},
        "classes": recoded.classes,
    }


def no_levels(
    problem: Problem,
    suppressed: int,
    satisfying: bool,
    names: list[str],
    *,
    step: str,
    given: bool,
    limited: Collection[str] = (),
) -> Message:
    """Why no node can be released: how far away the coarsest (or the given) one is, and the ways out."""
    if problem.k > problem.people:
        only = "only_rows" if problem.person is None else "only_people"
        return Message(f"error_technique.{only}", step=step, k=problem.k, rows=problem.people)
    where = Message("error_technique.on_given" if given else "error_technique.on_coarsest")
    whom, of = ("_people", problem.people) if problem.whole_people else ("", problem.rows)
    how = "left_over" if satisfying else "too_many_suppressed"
    need = Message(f"error_technique.{how}{whom}", where=where, suppressed=suppressed, rows=of)
    figures = {"step": step, "need": need, "limit": problem.limit, "unclear": _unclear(problem, names)}
    if given:
        return Message("error_technique.not_at_given", **figures)
    open_ = [name for name, h in zip(names, problem.hierarchies, strict=True) if len(h.levels[-1].labels) > 1]
    free, bound = ([name for name in open_ if (name in limited) is one] for one in (False, True))
    figures["coarser"] = Message("error_technique.coarser", columns=free) if free else ""
    figures["limited"] = Message("error_technique.limited", columns=bound) if bound else ""
    return Message("error_technique.no_levels", **figures)


def _unclear(problem: Problem, names: list[str]) -> Message | str:
    """That a label of a coarsest level does not tell whom of the population it covers, or that other people might have gone."""
    if problem.whole_people and problem.rules:
        return Message("error_technique.people_untried")
    if problem.population is None or problem.population.unclear is None:
        return ""
    for name, hierarchy, levels in zip(names, problem.hierarchies, problem.population.unclear, strict=True):
        own, top = levels[-1][0], hierarchy.levels[-1]
        if own.any():
            labels = texts_of(top.labels.take(pa.array(np.unique(top.table[own]))))
            return Message("error_technique.unclear", column=name, labels=list(map(str, labels)))
    return ""


def global_facts(
    problem: Problem,
    found: SearchResult,
    hierarchies: Mapping[str, Hierarchy],
    gone: int,
    *,
    loss: str,
    k: int,
    given: bool,
) -> dict[str, Any]:
    """Facts of a global recoding, so many records being suppressed; `given`: nothing was searched."""
    best = found.best
    assert best is not None
    chosen = dict(zip(hierarchies, best.levels, strict=True))
    suppressed = {"records": gone, "of": problem.rows}
    if problem.whole_people:
        suppressed |= {"people": best.suppressed + best.extra, "of_people": problem.people}
    of = "_people" if problem.whole_people else ""
    suppressed |= {f"extra{of}": best.extra, f"limit{of}": problem.limit}
    lattice = {"nodes": found.size, "evaluated": found.evaluated, "tagged": found.tagged, "skipped": found.skipped}
    return {
        **({} if found.stopped is None else {"stopped": found.stopped}),
        "k": k,
        "recoding": "global",
        "levels": {name: {"level": level, "of": hierarchies[name].height} for name, level in chosen.items()},
        "loss": {
            "name": loss,
            "value": best.loss,
            "exact": found.exact,
            "bound": found.bound,
            **({"given": True} if given else {}),
            **({"ranks": list(found.ranks)} if found.ranks else {}),
        },
        "suppressed": suppressed,
        "lattice": lattice,
        "minimal": None if found.minimal is None else list(map(list, found.minimal)),
        "runners_up": list(map(runner_up, found.runners_up)),
        "again": {"levels": chosen},
    }
