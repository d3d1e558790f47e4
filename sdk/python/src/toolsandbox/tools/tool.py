"""Tools: functions with hints and docstrings, what they declare, and the rows that they see and change."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from .v1 import tools_pb2

Function = Callable[..., Any]
Tables = Union[Sequence[str], Mapping[str, Sequence[str]]]


@dataclasses.dataclass(frozen=True)
class Where:
    """Selects the rows in which a column has a value."""

    column: str
    value: Any


class World:
    """A call's view of the session, which collects its changes. A parameter with this hint receives it."""

    def __init__(self, rows: dict[str, list[dict[str, Any]]], now: float | None, ids: Sequence[str]) -> None:
        self.rows = rows
        """The rows that the tool reads, by table."""
        self.now = now
        """The session's time in POSIX seconds, if the tool declares clock."""
        self.ids = list(ids)
        """New ids for rows, as many as the tool declares."""
        self._changes: list[tools_pb2.Change] = []

    def add(self, table: str, **row: Any) -> None:
        """Adds a row. Omitted columns are null."""
        self._changes.append(tools_pb2.Change(table=table, add_json=_json(row)))

    def update(self, table: str, where: Where, **values: Any) -> None:
        """Replaces values of the one row that matches the condition."""
        update = tools_pb2.Update(where=_where(where), values_json=_json(values))
        self._changes.append(tools_pb2.Change(table=table, update=update))

    def remove(self, table: str, where: Where) -> None:
        """Removes the rows that the condition selects."""
        self._changes.append(tools_pb2.Change(table=table, remove=_where(where)))


def _where(where: Where) -> tools_pb2.Where:
    return tools_pb2.Where(column=where.column, value_json=_json(where.value))


@dataclasses.dataclass(frozen=True)
class Tool:
    """A function that is a tool."""

    function: Function
    declared: tools_pb2.Tool
    world: str | None
    """The name of the parameter that gets the World, if any."""

    def call(self, arguments_json: str, world: World) -> tools_pb2.CallResponse:
        """Runs the function. What it raises, SystemExit included, is part of the answer."""
        try:
            arguments = json.loads(arguments_json)
            if self.world is not None:
                arguments[self.world] = world
            value = _json(self.function(**arguments))
        except BaseException as error:  # it is the conversation's
            return tools_pb2.CallResponse(raised=tools_pb2.Raised(type=_named(type(error)), text=_text(error)))
        return tools_pb2.CallResponse(value_json=value, changes=world._changes)


def _json(value: object) -> str:
    """The JSON of a value. Raises TypeError or ValueError for what JSON cannot represent, including NaN."""
    return json.dumps(value, allow_nan=False)


_CLASS = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")


def _named(kind: type[BaseException]) -> str:
    """The name of a class as the tool host takes it."""
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return name if _CLASS.fullmatch(name) else "RuntimeError"


def _text(error: BaseException) -> str:
    """The text of an exception, so that it can be sent."""
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be read"
    return text.encode("utf-8", "replace").decode()


registered: list[Tool] = []
"""Those of all decorated functions, in their order."""


F = typing.TypeVar("F", bound=Function)


@typing.overload
def tool(function: F) -> F: ...


@typing.overload
def tool(
    *, reads: Tables = (), writes: Tables = (), ids: int = 0, clock: bool = False, user: bool = False
) -> Callable[[F], F]: ...


def tool(
    function: Function | None = None, *, reads: Tables = (), writes: Tables = (), ids: int = 0, clock: bool = False, user: bool = False
) -> Any:
    """Makes a function a tool, with or without parentheses. reads and writes are names of tables, or map them to columns."""

    def decorate(decorated: Function) -> Function:
        registered.append(_tool(decorated, reads, writes, ids, clock, user))
        return decorated

    return decorate if function is None else decorate(function)


def _tool(function: Function, reads: Tables, writes: Tables, ids: int, clock: bool, user: bool) -> Tool:
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{function.__name__} is a coroutine function, expected a plain one: its calls run in threads, so use asyncio.run in it")
    hints, world = typing.get_type_hints(function), None
    description, described = _docstring(function)
    properties: dict[str, Any] = {}
    required = []
    for name, parameter in inspect.signature(function).parameters.items():
        if hints.get(name) is World:
            world = name
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: parameter {parameter} cannot be given by name")
        if name not in hints:
            raise TypeError(f"{function.__name__}: parameter {name} has no type hint")
        properties[name] = _schema(hints[name], f"{function.__name__}: parameter {name}")
        if name in described:
            properties[name]["description"] = described[name]
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
            continue
        try:
            _json(parameter.default)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{function.__name__}: the default of parameter {name} is no JSON: {error}") from error
        properties[name]["default"] = parameter.default
    declared = tools_pb2.Tool(
        name=function.__name__,
        description=description,
        parameters_json=json.dumps({"type": "object", "properties": properties, "required": required}),
        reads=_rows(reads),
        writes=_rows(writes),
        ids=ids,
        clock=clock,
        user=user,
    )
    return Tool(function, declared, world)


def _rows(tables: Tables) -> list[tools_pb2.Rows]:
    if isinstance(tables, Mapping):
        return [tools_pb2.Rows(table=table, columns=columns) for table, columns in tables.items()]
    return [tools_pb2.Rows(table=table) for table in tables]


_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}


def _schema(hint: Any, where: str) -> dict[str, Any]:
    """Returns the JSON Schema of a hint."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is Any:
        return {}
    if hint is list or origin is list:
        return {"type": "array", "items": _schema(of[0], where) if of else {}}
    if hint is dict or origin is dict:
        return {"type": "object", "additionalProperties": _schema(of[1], where) if of else {}}
    if origin is Union or origin is getattr(types, "UnionType", Union):
        others = [part for part in of if part is not type(None)]
        if len(others) < len(of):
            return {"anyOf": [*(_schema(part, where) for part in others), {"type": "null"}]}
        return {"anyOf": [_schema(part, where) for part in others]}
    raise TypeError(f"{where} has the hint {hint}, expected str, bool, int, float, list[…], dict[str, …], Optional[…] or Any")


_ENTRY = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_SECTIONS = ("Args:", "Returns:", "Raises:", "Example:", "Examples:", "Note:", "Notes:")


def _docstring(function: Function) -> tuple[str, dict[str, str]]:
    """Returns what a docstring in Google's style says of a function, and of each argument."""
    lines = (inspect.getdoc(function) or "").splitlines()
    description: list[str] = []
    arguments: dict[str, str] = {}
    section = ""
    last: Optional[str] = None
    for line in lines:
        if line.strip() in _SECTIONS:
            section, last = line.strip(), None
        elif not section:
            description.append(line.strip())
        elif section == "Args:":
            entry = _ENTRY.match(line.strip())
            if entry and len(line) - len(line.lstrip()) <= 4:
                last = entry.group(1)
                arguments[last] = entry.group(2)
            elif last is not None and line.strip():
                arguments[last] += " " + line.strip()
    return " ".join(filter(None, description)), arguments
