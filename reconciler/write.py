"""The changes of plans as row operations of one OVSDB transaction: check all, then verify and write.

Every value that a plan was made from is compared with the replica first. Only when nothing moved are
the columns verified, so that the server refuses what moves later; a verify before a failing check would
leak into the row's next transaction. Row methods, not ovsdbapp's commands: those cost forty times more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from ovs.db import data, error

from ovnlb.desired.rows import DEVICE_OWNER
from ovnlb.diff.plan import Change, Op, Plan
from ovnlb.observed import datum
from ovnlb.observed.idl import NbReplica
from ovnlb.reconciler.errors import StalePlan, Terminal

BALANCER, CHECK = "Load_Balancer", "Load_Balancer_Health_Check"
# Columns of a plan's rows that are references: written through changes of their own.
_REFERENCES = frozenset({"health_check", "attached_switches", "attached_routers"})


def _value(value: Any) -> Any:
    """A JSON value in a form that compares: maps as dicts, everything else as a set of its members."""
    if isinstance(value, Mapping):
        return dict(value)
    if value is None:
        return frozenset()
    return frozenset(value) if isinstance(value, list | tuple | set | frozenset) else frozenset({value})


def _python(value: Any) -> Any:
    """A JSON value as python-ovs takes it."""
    if isinstance(value, Mapping):
        return dict(value)
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple | set | frozenset) else value


def _where(change: Change) -> str:
    parts = (change.table, change.row, change.column, change.key)
    return " ".join(part for part in parts if part)


class Writer:
    """Writes `plans` into the transaction that `run_idl` gets; run again for every attempt.

    After a run `written` counts changes per LB and `skipped` lists attachments whose switch or router
    has gone: such a reference goes by itself, so it is no reason to fail.
    """

    def __init__(self, nb: NbReplica, plans: Sequence[Plan], comment: str, stamp: bool) -> None:
        self.nb, self.plans, self.comment, self.stamp = nb, plans, comment, stamp
        self.persist = nb.persistent_uuids
        self.written: dict[str, int] = {}
        self.skipped: list[str] = []

    def run_idl(self, txn: Any) -> None:
        """Raises StalePlan or Terminal before anything was written."""
        self.written, self.skipped = dict.fromkeys((plan.lb_id for plan in self.plans), 0), []
        stale = {plan.lb_id: why for plan in self.plans if (why := _Checks(self.nb, plan).stale())}
        if stale:
            raise StalePlan(stale)
        for plan in self.plans:
            self._write(txn, plan)
        if any(self.written.values()):
            txn.add_comment(self.comment)
            self._stamp(txn)

    def post_commit(self, txn: Any) -> None:
        """Part of ovsdbapp's command protocol; nothing to do."""

    def _stamp(self, txn: Any) -> None:
        """Count up NB_Global nb_cfg, so that northd's sb_cfg tells when it has taken this in."""
        if self.stamp:
            for row in self.nb.table("NB_Global").rows.values():
                row.increment("nb_cfg")

    def _write(self, txn: Any, plan: Plan) -> None:
        steps = {Op.SET: self._set, Op.UNSET: self._unset, Op.ATTACH: self._attach, Op.DETACH: self._detach}
        inserts = [change for change in plan.changes if change.op is Op.INSERT]
        deletes = [change for change in plan.changes if change.op is Op.DELETE]
        going = {change.row for change in deletes if change.table == BALANCER}
        made: dict[str, Any] = {}
        for change in sorted(inserts, key=lambda one: one.table):
            self._insert(txn, change, made)
        for change in plan.changes:
            if change.op in steps and not (change.op is Op.DETACH and change.key in going):
                self.written[plan.lb_id] += steps[change.op](change)
        for change in deletes:
            if change.table == BALANCER:
                self._delete(change)
            elif change.owner not in going:
                self._delete_check(change)
        self.written[plan.lb_id] += len(inserts) + len(deletes)
        if not self.persist:
            self._require_alone(txn, plan)

    def _row(self, change: Change) -> Any:
        return self.nb.row(change.table, UUID(change.row))

    def _insert(self, txn: Any, change: Change, made: dict[str, Any]) -> None:
        """A row under the plan's UUID: a second writer of the same row is refused by the server."""
        row = txn.insert(self.nb.table(change.table), UUID(change.row), persist_uuid=self.persist)
        made[change.row] = row
        for column, value in change.after.items():
            if column not in _REFERENCES:
                setattr(row, column, _python(value))
        if change.table == CHECK:
            owner = made.get(change.owner or "") or self.nb.row(BALANCER, UUID(change.owner))
            owner.verify("health_check")
            owner.addvalue("health_check", row.uuid)

    def _require_alone(self, txn: Any, plan: Plan) -> None:
        """For servers that choose UUIDs: no other row of that name and protocol may exist at commit."""
        for change in plan.changes:
            if change.op is not Op.INSERT or change.table != BALANCER:
                continue
            name, protocol = change.after["name"], _value(change.after.get("protocol"))
            marked = [
                row.uuid
                for row in self.nb.balancer_rows(name)
                if _is_marked(row) and _value(datum.members(row, "protocol")) == protocol
            ]
            mine = "row" + change.row.replace("-", "_")
            txn.add_op(
                {
                    "op": "wait",
                    "table": BALANCER,
                    "timeout": 0,
                    "where": [["name", "==", name], ["protocol", "==", ["set", sorted(protocol)]]],
                    "columns": ["_uuid"],
                    "until": "==",
                    "rows": [{"_uuid": ["named-uuid", mine]}]
                    + [{"_uuid": ["uuid", str(uuid)]} for uuid in marked],
                }
            )

    def _set(self, change: Change) -> bool:
        row, column = self._row(change), change.column
        if _value(change.before) == _value(change.after):
            return False
        row.verify(column)
        if change.key is None:
            setattr(row, str(column), _python(change.after))
        else:
            row.setkey(column, change.key, change.after)
        return True

    def _unset(self, change: Change) -> bool:
        if change.before is None:
            return False
        row = self._row(change)
        row.verify(change.column)
        row.delkey(change.column, change.key)
        return True

    def _target(self, change: Change) -> Any:
        row = self.nb.named(change.table, change.row)
        if row is None:
            self.skipped.append(f"{change.table} {change.row}")
        return row

    def _attach(self, change: Change) -> bool:
        row, balancer = self._target(change), UUID(change.key)
        if row is None or datum.holds(row, "load_balancer", balancer):
            return False
        row.addvalue("load_balancer", balancer)
        return True

    def _detach(self, change: Change) -> bool:
        row, balancer = self.nb.named(change.table, change.row), UUID(change.key)
        if row is None or not datum.holds(row, "load_balancer", balancer):
            return False
        row.delvalue("load_balancer", balancer)
        return True

    def _delete(self, change: Change) -> None:
        row = self._row(change)
        for column in change.before:
            if column not in _REFERENCES:
                row.verify(column)
        row.delete()

    def _delete_check(self, change: Change) -> None:
        """The check is no root row: without its reference it is collected. It is verified as well."""
        owner, row = self.nb.row(BALANCER, UUID(change.owner)), self._row(change)
        owner.verify("health_check")
        owner.delvalue("health_check", row.uuid)
        for column in change.before:
            row.verify(column)
        row.delete()


def _is_marked(row: Any) -> bool:
    """Whether the row says that it is somebody else's."""
    return DEVICE_OWNER in datum.mapping(row, "external_ids")


class _Checks:
    """Whether one plan still fits the replica."""

    def __init__(self, nb: NbReplica, plan: Plan) -> None:
        self.nb, self.plan = nb, plan
        self.inserted = {change.row for change in plan.changes if change.op is Op.INSERT}
        self.replaced = {change.row for change in plan.changes if change.op is Op.DELETE}
        self.replaced |= {change.row for change in plan.changes if change.column == "protocol"}
        self.seen = {row.uuid: row for row in (*plan.have.rows, *plan.have.suspect)}

    def stale(self) -> str | None:
        """What moved, naming row, column and key; None when nothing did. Terminal for a bad change."""
        checks = {Op.INSERT: self._insert, Op.DELETE: self._delete, Op.SET: self._set, Op.UNSET: self._set}
        checks |= {Op.ATTACH: self._attach, Op.DETACH: self._detach}
        for change in self.plan.changes:
            if why := checks[change.op](change):
                return f"{_where(change)}: {why}"
        return None

    def _column(self, change: Change, column: str) -> Any:
        found = self.nb.table(change.table).columns.get(column)
        if found is None:
            raise Terminal(f"{_where(change)}: there is no column {change.table}.{column}")
        return found

    def _fits(self, change: Change, column: str, value: Any) -> None:
        """python-ovs only logs a value that does not fit its column and goes on without it."""
        try:
            data.Datum.from_python(self._column(change, column).type, value, lambda item: item)
        except (error.Error, TypeError, AttributeError) as bad:
            raise Terminal(
                f"{_where(change)}: {value!r} does not fit {change.table}.{column}: {bad}"
            ) from bad

    def _differs(self, change: Change, row: Any, column: str, before: Any) -> str | None:
        self._column(change, column)
        found = datum.plain(row._data[column])
        if _value(found) == _value(before):
            return None
        return f"{column} is {found!r}, planned from {before!r}"

    def _insert(self, change: Change) -> str | None:
        for column, value in change.after.items():
            if column not in _REFERENCES:
                self._fits(change, column, _python(value))
        if self.nb.row(change.table, UUID(change.row)) is not None:
            return "the row exists already"
        return self._owner(change) if change.table == CHECK else self._twin(change)

    def _owner(self, change: Change) -> str | None:
        """The row that a health check is added to or removed from, with the checks that were planned from."""
        if change.owner in self.inserted:
            return None
        row = self.nb.row(BALANCER, UUID(change.owner)) if change.owner else None
        if row is None:
            return f"Load_Balancer {change.owner} has gone"
        seen = self.seen.get(change.owner)
        now = {str(uuid) for uuid in datum.members(row, "health_check")}
        if seen is not None and now != {check.uuid for check in seen.health_checks}:
            return f"Load_Balancer {change.owner} has other health checks now"
        return None

    def _twin(self, change: Change) -> str | None:
        """Another row of the name and protocol that came since; marked rows never count."""
        protocol = _value(change.after.get("protocol"))
        for row in self.nb.balancer_rows(str(change.after["name"])):
            if str(row.uuid) in self.replaced or _is_marked(row):
                continue
            if _value(datum.members(row, "protocol")) == protocol:
                return f"Load_Balancer {row.uuid} has that name and protocol"
        return None

    def _delete(self, change: Change) -> str | None:
        row = self.nb.row(change.table, UUID(change.row))
        if row is None:
            return "the row has gone"
        for column, before in change.before.items():
            if column not in _REFERENCES and (why := self._differs(change, row, column, before)):
                return why
        if change.table == CHECK and change.owner not in self.replaced:
            return self._owner(change)
        return None

    def _set(self, change: Change) -> str | None:
        row = self.nb.row(change.table, UUID(change.row))
        if row is None:
            return "the row has gone"
        column = str(change.column)
        if change.key is None:
            self._fits(change, column, _python(change.after))
            return self._differs(change, row, column, change.before)
        if change.after is not None:
            self._fits(change, column, {change.key: change.after})
        self._column(change, column)
        found = datum.mapping(row, column).get(change.key)
        return None if found == change.before else f"it is {found!r}, planned from {change.before!r}"

    def _attach(self, change: Change) -> str | None:
        if change.key in self.inserted or self.nb.row(BALANCER, UUID(change.key)) is not None:
            return None
        return "the Load_Balancer has gone"

    def _detach(self, change: Change) -> str | None:
        return None
