"""Writes the scenarios of the original ToolSandbox as one JSON file, for `toolsandbox scenario import`.

Runs inside an environment in which the original is installed (package tool_sandbox; Python 3.9 or newer):

    python export.py --out scenarios.json

README.md says what the file holds. Nothing is taken for granted about the original: whatever is not there, or is not what
this program knows how to write, ends it with a message that names the place and what was expected. No file is written then.
"""

import argparse
import contextlib
import datetime
import functools
import json
import math
import os
import pathlib
import random
import sys
import time
import types

# The order in which variants are written; the scenario as it is comes first.
SUFFIXES = (
    "",
    "_3_distraction_tools",
    "_10_distraction_tools",
    "_all_tools",
    "_3_distraction_tools_tool_description_scrambled",
    "_3_distraction_tools_arg_type_scrambled",
    "_3_distraction_tools_arg_description_scrambled",
    "_3_distraction_tools_tool_name_scrambled",
)
MESSAGES = "SANDBOX"
TABLES = ("SETTING", "CONTACT", "MESSAGING", "REMINDER")
INDEX = "sandbox_message_index"
FIRST_USER_MESSAGE = -1
GUARDRAIL = "guardrail_similarity"
SNAPSHOT_MEASURES = (
    "snapshot_similarity",
    "addition_similarity",
    "removal_similarity",
    "update_similarity",
    "tool_trace_dependant_similarity",
    GUARDRAIL,
)
COLUMN_MEASURES = (
    "column_exact_match_similarity",
    "column_close_similarity",
    "column_one_similarity",
    "column_contains_similarity",
    "column_rouge_l_similarity",
    "column_tool_trace_exact_match_similarity",
)
# How columns are compared where a constraint does not say so; all others exactly.
DEFAULTS = {
    ("SANDBOX", "content"): "column_rouge_l_similarity",
    ("SANDBOX", "openai_tool_call_id"): "column_one_similarity",
    ("SANDBOX", "openai_function_name"): "column_one_similarity",
    ("SANDBOX", "tool_call_exception"): "column_one_similarity",
    ("SANDBOX", "tool_trace"): "column_tool_trace_exact_match_similarity",
    ("CONTACT", "relationship"): "column_rouge_l_similarity",
    ("MESSAGING", "content"): "column_rouge_l_similarity",
    ("REMINDER", "content"): "column_rouge_l_similarity",
}


class ExportError(Exception):
    """The original is not what this program knows."""


def attribute(value, name, where):
    """Returns an attribute that must be there."""
    try:
        return getattr(value, name)
    except AttributeError:
        known = ", ".join(sorted(a for a in dir(value) if not a.startswith("_"))) or "nothing"
        raise ExportError(f"{where}: expected {type(value).__name__} to have {name!r}; it has {known}") from None


def text(value, where):
    """Returns the name of an enumeration's member, or a text as it is."""
    if isinstance(value, str):
        return str(value)
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    raise ExportError(f"{where}: expected a text or a member of an enumeration, got {value!r}")


def texts(values, where):
    return [text(value, f"{where}[{i}]") for i, value in enumerate(values)]


def plain(value, where):
    """Returns a cell as JSON has it; the numbers that JSON lacks become texts."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, float)):
        if isinstance(value, int) or math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(getattr(value, "name", None), str):
        return value.name
    raise ExportError(f"{where}: expected null, a boolean, a number, a text or a list, got {type(value).__name__}")


def rows_of(frame, where):
    """Returns the rows of a data frame as dictionaries."""
    rows = attribute(frame, "to_dicts", where)()
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ExportError(f"{where}: expected to_dicts() to give a list of dictionaries")
    return rows


def history(context, namespace, where):
    """Returns all stored rows of a table, with their message index, and the empty rows that mark a version."""
    frame = attribute(context, "get_database", where)(
        namespace=namespace, get_all_history_snapshots=True, drop_sandbox_message_index=False, drop_headguard=False
    )
    rows = rows_of(frame, where)
    for row in rows:
        if not isinstance(row.get(INDEX), int):
            raise ExportError(f"{where}: expected each row to have a whole number {INDEX}, got {row.get(INDEX)!r}")
    return rows


def split(row, where):
    """Returns the index of a row and its cells; the cells are None for a row that only marks a version."""
    cells = {name: plain(value, f"{where}.{name}") for name, value in row.items() if name != INDEX}
    return row[INDEX], None if all(cell is None for cell in cells.values()) else cells


def tables_of(context, namespaces, where):
    """Returns the stored versions of each table."""
    tables = {}
    for name in TABLES:
        versions = {}
        for row in history(context, namespaces[name], f"{where}, table {name}"):
            index, cells = split(row, f"{where}, table {name}")
            rows = versions.setdefault(index, [])
            if cells is not None:
                rows.append(cells)
        tables[name] = [{"index": index, "rows": versions[index]} for index in sorted(versions)]
        if not tables[name]:
            tables[name] = [{"index": 0, "rows": []}]
    return tables


def messages_of(context, namespaces, where):
    """Returns the starting messages without their null fields."""
    messages = []
    for row in history(context, namespaces[MESSAGES], f"{where}, messages"):
        index, cells = split(row, f"{where}, messages")
        if cells is not None:
            messages.append({"index": index, **{name: cell for name, cell in cells.items() if cell is not None}})
    messages.sort(key=lambda message: message["index"])
    if [message["index"] for message in messages] != list(range(len(messages))):
        raise ExportError(f"{where}, messages: expected one message for each index from 0")
    return messages


def function_of(measure, known, where):
    """Returns the name of a measure and the arguments that are bound to it."""
    arguments = {}
    while isinstance(measure, functools.partial):
        if measure.args:
            raise ExportError(f"{where}: expected a measure with named arguments only, got {measure.args!r}")
        arguments = {**measure.keywords, **arguments}
        measure = measure.func
    name = getattr(measure, "__name__", None)
    if name not in known:
        raise ExportError(f"{where}: expected one of {', '.join(known)}, got {name or measure!r}")
    return name, arguments


def columns_of(table, measures, where):
    """Returns the measures of columns that differ from the defaults."""
    columns = {}
    for column, measure in (measures or {}).items():
        at = f"{where}, column {column}"
        name, arguments = function_of(measure, COLUMN_MEASURES, at)
        default = DEFAULTS.get((table, column), "column_exact_match_similarity")
        if column == INDEX or (name == default and not arguments):
            continue
        columns[column] = {"measure": name}
        if arguments:
            if set(arguments) != {"atol_dict"}:
                raise ExportError(f"{at}: expected no argument but atol_dict, got {', '.join(sorted(arguments))}")
            columns[column]["arguments"] = {
                "atol_dict": {key: plain(value, at) for key, value in arguments["atol_dict"].items()}
            }
    return columns


def constraint_of(constraint, where):
    """Returns one constraint."""
    table = text(attribute(constraint, "database_namespace", where), f"{where}, database_namespace")
    name, arguments = function_of(attribute(constraint, "snapshot_constraint", where), SNAPSHOT_MEASURES, where)
    written = {"table": table, "measure": name}
    if arguments:
        if set(arguments) != {"fill_to", "extractor"}:
            raise ExportError(f"{where}: expected the arguments fill_to and extractor, got {', '.join(sorted(arguments))}")
        extractor = getattr(arguments["extractor"], "__name__", None)
        if not extractor or extractor == "<lambda>":
            raise ExportError(f"{where}: expected an extractor with a name, got {arguments['extractor']!r}")
        written["measure_arguments"] = {"fill_to": text(arguments["fill_to"], where), "extractor": extractor}
    reference = attribute(constraint, "reference_milestone_node_index", where)
    if reference is not None:
        written["reference"] = reference
    target = attribute(constraint, "target_dataframe", where)
    rows = [] if target is None else rows_of(target, f"{where}, target")
    written["target"] = [{column: plain(cell, f"{where}, target") for column, cell in row.items()} for row in rows]
    columns = columns_of(table, attribute(constraint, "column_similarity_measure", where), where)
    if columns:
        written["columns"] = columns
    return written


def named_tables(constraints):
    return {c["table"] for c in constraints if c["measure"] != GUARDRAIL}


def automatic(node, lists, edges, guardable, where):
    """Returns which guardrails the original adds to a node by itself, as (table, reference)."""
    if len(lists) > 1 and not any(node in edge for edge in edges):
        return set()
    references = {c["reference"] for c in lists[node] if "reference" in c}
    references |= {before for before, after in edges if after == node}
    for reference in references:
        if not FIRST_USER_MESSAGE <= reference < len(lists):
            raise ExportError(f"{where}[{node}]: expected a reference from -1 to {len(lists) - 1}, got {reference}")
    named = set(named_tables(lists[node]))
    for reference in references:
        named |= named_tables(lists[reference])  # -1 is the last node here, as in the original
    return {(table, reference) for table in guardable if table != MESSAGES and table not in named for reference in references}


def graph_of(matcher, where):
    """Returns a graph of milestones or minefields."""
    milestones = list(attribute(matcher, "milestones", where))
    edges = attribute(matcher, "edge_list", where)
    if edges is None:
        edges = [(i, i + 1) for i in range(len(milestones) - 1)]
    edges = [[int(before), int(after)] for before, after in edges]
    lists = []
    for i, milestone in enumerate(milestones):
        constraints = attribute(milestone, "snapshot_constraints", f"{where}[{i}]")
        lists.append([constraint_of(c, f"{where}[{i}], constraint {j}") for j, c in enumerate(constraints)])
    order = (MESSAGES, *TABLES)
    nodes = []
    for i, milestone in enumerate(milestones):
        candidates = attribute(milestone, "guardrail_database_list", f"{where}[{i}]")
        guardable = list(order) if candidates is None else texts(candidates, f"{where}[{i}], guardrail_database_list")
        added = automatic(i, lists, edges, guardable, where)
        constraints, guardrails = [], []
        for c in reversed(lists[i]):  # what was added by itself comes last
            key = (c["table"], c.get("reference"))
            if c["measure"] == GUARDRAIL and key in added:
                added.discard(key)
                guardrails.append({"table": key[0], "reference": key[1]})
            else:
                constraints.insert(0, c)
        guardrails.sort(key=lambda g: (g["reference"], order.index(g["table"])))
        nodes.append({"constraints": constraints, "guardrail_tables": guardable, "guardrails": guardrails})
    return {"nodes": nodes, "edges": edges}


def base_of(scenario, namespaces, where):
    """Returns what all variants of a scenario share."""
    context = attribute(scenario, "starting_context", where)
    evaluation = attribute(scenario, "evaluation", where)
    return {
        "max_messages": attribute(scenario, "max_messages", where),
        "trace_tool": bool(attribute(context, "trace_tool", where)),
        "preferred_tool_backend": text(attribute(context, "preferred_tool_backend", where), f"{where}, preferred_tool_backend"),
        "tables": tables_of(context, namespaces, where),
        "messages": messages_of(context, namespaces, where),
        "milestones": graph_of(attribute(evaluation, "milestone_matcher", where), f"{where}, milestones"),
        "minefields": graph_of(attribute(evaluation, "minefield_matcher", where), f"{where}, minefields"),
    }


def variant_of(scenario, where):
    """Returns what tells a variant from its base."""
    context = scenario.starting_context
    allowed = attribute(context, "tool_allow_list", where)
    if allowed is None:
        allowed = sorted(attribute(context, "name_to_tool", where))
    denied = attribute(context, "tool_deny_list", where)
    return {
        "tools": texts(allowed, f"{where}, tools"),
        "denied": None if denied is None else texts(denied, f"{where}, denied"),
        "augmentations": texts(attribute(context, "tool_augmentation_list", where), f"{where}, augmentations"),
        "categories": texts(attribute(scenario, "categories", where), f"{where}, categories"),
    }


def bases(names):
    """Groups names: base → suffixes, in the order of the bases."""
    known = set(names)
    groups = {}
    for name in names:
        base, suffix = name, ""
        for candidate in sorted(SUFFIXES, key=len, reverse=True):
            if candidate and name.endswith(candidate) and name[: -len(candidate)] in known:
                base, suffix = name[: -len(candidate)], candidate
                break
        groups.setdefault(base, []).append(suffix)
    return groups


def document(scenarios, namespaces, now, timezone):
    """Returns the whole file; scenarios are by name."""
    written = []
    for name, suffixes in bases(list(scenarios)).items():
        shared = base_of(scenarios[name], namespaces, name)
        variants = {}
        for suffix in sorted(suffixes, key=SUFFIXES.index):
            other = base_of(scenarios[name + suffix], namespaces, name + suffix)
            for field in shared:
                if other[field] != shared[field]:
                    raise ExportError(f"{name + suffix}: expected the same {field} as {name}")
            variants[suffix] = variant_of(scenarios[name + suffix], name + suffix)
        written.append({"name": name, **shared, "variants": variants})
    return {"now": now, "timezone": timezone, "scenarios": written}


def load():
    """Imports the original and returns what makes its scenarios, and its tables by name."""
    try:
        import tool_sandbox.common.execution_context as contexts
        import tool_sandbox.common.tool_discovery as discovery
        import tool_sandbox.scenarios as package
    except ImportError as missing:
        raise ExportError(
            f"the original cannot be imported ({missing}): run this with the Python in whose environment tool_sandbox is installed"
        ) from missing
    namespaces = {}
    for namespace in attribute(contexts, "DatabaseNamespace", "tool_sandbox.common.execution_context"):
        namespaces[text(namespace, "DatabaseNamespace")] = namespace
    if set(namespaces) != {MESSAGES, *TABLES}:
        raise ExportError(f"DatabaseNamespace: expected {', '.join((MESSAGES, *TABLES))}, got {', '.join(namespaces)}")
    backends = attribute(discovery, "ToolBackend", "tool_sandbox.common.tool_discovery")
    named = attribute(package, "named_scenarios", "tool_sandbox.scenarios")
    return functools.partial(named, preferred_tool_backend=attribute(backends, "DEFAULT", "ToolBackend")), namespaces


class Instant(type):
    """Lets a stand-in of a class accept that class's instances."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls.__mro__[1])


def stopped_classes(now):
    """Returns datetime and date classes whose clock stands at a POSIX time; what they make are ordinary values."""
    moment, day = datetime.datetime, datetime.date

    class StoppedDatetime(moment, metaclass=Instant):
        def __new__(cls, *arguments, **options):
            return moment(*arguments, **options)

        @classmethod
        def now(cls, tz=None):
            return moment.fromtimestamp(now, tz)

        @classmethod
        def today(cls):
            return moment.fromtimestamp(now)

        @classmethod
        def utcnow(cls):
            return moment.fromtimestamp(now, datetime.timezone.utc).replace(tzinfo=None)

    class StoppedDate(day, metaclass=Instant):
        def __new__(cls, *arguments, **options):
            return day(*arguments, **options)

        @classmethod
        def today(cls):
            return moment.fromtimestamp(now).date()

    return StoppedDatetime, StoppedDate


def copy_of(module, **changes):
    """Returns a module with the same content but the changes."""
    copied = types.ModuleType(module.__name__)
    vars(copied).update({**vars(module), **changes})
    return copied


@contextlib.contextmanager
def stopped(now, package):
    """Stops the clock at a POSIX time for the modules of a package, and for nobody else."""
    moment, day = stopped_classes(now)
    stand_ins = (
        (datetime, copy_of(datetime, datetime=moment, date=day)),
        (datetime.datetime, moment),
        (datetime.date, day),
        (time, copy_of(time, time=lambda: now, time_ns=lambda: int(now * 1e9))),
        (time.time, lambda: now),
    )
    changed = []
    for name, module in list(sys.modules.items()):
        if module is None or not (name == package or name.startswith(package + ".")):
            continue
        for variable, value in list(vars(module).items()):
            for real, stand_in in stand_ins:
                if value is real:
                    setattr(module, variable, stand_in)
                    changed.append((module, variable, value))
    try:
        yield
    finally:
        for module, variable, value in changed:
            setattr(module, variable, value)


def set_zone(timezone):
    """Makes a time zone that of this process."""
    if not hasattr(time, "tzset"):
        raise ExportError("--timezone: expected a system on which the time zone of a process can be set (Linux, macOS)")
    os.environ["TZ"] = timezone
    time.tzset()


def export(now, timezone, seed):
    """Makes the scenarios at a POSIX time and returns the whole file."""
    random.seed(seed)  # the original shuffles the lists of tools
    make, namespaces = load()
    with stopped(now, "tool_sandbox"):
        scenarios = make()
    if not isinstance(scenarios, dict) or not scenarios:
        raise ExportError("tool_sandbox.scenarios.named_scenarios: expected a dictionary of scenarios by name")
    return document(scenarios, namespaces, now, timezone)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--out", default="scenarios.json", help="the file to write (default: scenarios.json)")
    parser.add_argument("--now", help="local date and time in the scenarios, e.g. 2024-05-22T10:30:00 (default: now)")
    parser.add_argument("--timezone", default="America/Los_Angeles", help="time zone of the scenarios (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the order of tools (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        set_zone(options.timezone)
        now = float(int(time.time()))
        if options.now is not None:
            now = datetime.datetime.fromisoformat(options.now).timestamp()
        written = export(now, options.timezone, options.seed)
    except (ExportError, ValueError) as mistake:
        print(f"export.py: {mistake}", file=sys.stderr)
        return 1
    target = pathlib.Path(options.out)
    temporary = target.with_name(target.name + ".new")
    temporary.write_text(json.dumps(written, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(temporary, target)
    count = sum(len(scenario["variants"]) for scenario in written["scenarios"])
    print(f"{target}: {len(written['scenarios'])} scenarios with their variants, {count} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
