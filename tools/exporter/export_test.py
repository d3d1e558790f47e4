"""Tests export.py with stand-ins of the original's shape: no network, nothing but the standard library.

python3 -m unittest discover -s tools/exporter -p '*_test.py'; with UPDATE=1 the expected file is written anew.
"""

import contextlib
import datetime
import enum
import functools
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

import export

EXPECTED = pathlib.Path(__file__).parent / "testdata" / "scenarios.json"


class Name(str, enum.Enum):
    """A text and a member of an enumeration at once, as the original's are."""

    def __str__(self):
        return self.value


Table = Name("Table", {name: name for name in (export.MESSAGES, *export.TABLES)})
Role = Name("Role", {name: name for name in ("SYSTEM", "USER", "AGENT", "EXECUTION_ENVIRONMENT")})
Category = Name("Category", {name: name for name in ("SINGLE_TOOL_CALL", "NO_DISTRACTION_TOOLS", "THREE_DISTRACTION_TOOLS", "TOOL_NAME_SCRAMBLED")})


class Backend(enum.Enum):
    """An enumeration that is no text."""

    DEFAULT = enum.auto()


class Frame:
    """A data frame, as far as it is asked."""

    def __init__(self, rows):
        self.rows = rows

    def to_dicts(self):
        return [dict(row) for row in self.rows]


class Context:
    """A starting context."""

    trace_tool = True
    preferred_tool_backend = Backend.DEFAULT

    def __init__(self, rows, tools, augmentations=()):
        self.rows = rows
        self.tool_allow_list, self.tool_deny_list = tools, None
        self.tool_augmentation_list = list(augmentations)

    def get_database(self, namespace, get_all_history_snapshots, drop_sandbox_message_index, drop_headguard):
        assert get_all_history_snapshots and not drop_sandbox_message_index and not drop_headguard
        return Frame(self.rows[namespace])


def measure(name):
    def called():
        raise AssertionError("an exporter does not score")

    called.__name__ = name
    return called


def days_extractor(trace):
    return [trace]


def bag(**fields):
    return types.SimpleNamespace(**fields)


def constraint(table, name, target=None, reference=None, columns=None, **arguments):
    function = functools.partial(measure(name), **arguments) if arguments else measure(name)
    defaults = {"sandbox_message_index": measure("column_exact_match_similarity")}
    if table is Table.SANDBOX:
        defaults["content"] = measure("column_rouge_l_similarity")
    return bag(
        database_namespace=table, snapshot_constraint=function, reference_milestone_node_index=reference,
        target_dataframe=None if target is None else Frame([target]), column_similarity_measure={**defaults, **(columns or {})},
    )


def rows():
    blank = dict.fromkeys(("person_id", "name", "is_self"))
    setting = {"device_id": "d", "wifi": True, "latitude": 1.5, "longitude": float("inf")}
    talk = dict.fromkeys(("content", "openai_tool_call_id", "tool_trace", "visible_to"))
    return {
        Table.SANDBOX: [
            {"sandbox_message_index": 0, "sender": None, "recipient": None, "conversation_active": None, **talk},
            {"sandbox_message_index": 0, "sender": "SYSTEM", "recipient": "AGENT", "conversation_active": True, **talk, "content": "s"},
            {"sandbox_message_index": 1, "sender": Role.USER, "recipient": Role.AGENT, "conversation_active": True, **talk,
             "content": "demö", "visible_to": [Role.USER]},
            {"sandbox_message_index": 2, "sender": Role.USER, "recipient": Role.AGENT, "conversation_active": True, **talk, "content": "go"},
        ],
        Table.SETTING: [{"sandbox_message_index": 0, **setting}],
        Table.CONTACT: [
            {"sandbox_message_index": 0, **blank},
            {"sandbox_message_index": 1, **blank},
            {"sandbox_message_index": 1, "person_id": "p", "name": "A", "is_self": None},
        ],
        Table.MESSAGING: [],
        Table.REMINDER: [{"sandbox_message_index": 0, "content": None}],
    }


def milestones():
    close = functools.partial(measure("column_close_similarity"), atol_dict={"latitude": float("inf"), "b": 1})
    return bag(edge_list=[(0, 1)], milestones=[
        bag(guardrail_database_list=[Table.SANDBOX, Table.CONTACT, Table.MESSAGING], snapshot_constraints=[
            constraint(Table.CONTACT, "guardrail_similarity", reference=-1),  # an author's own: the last node names the table
            constraint(Table.SETTING, "update_similarity", {"wifi": False, "device_id": None}, -1, {"latitude": close}),
            constraint(Table.MESSAGING, "guardrail_similarity", reference=-1),
        ]),
        bag(guardrail_database_list=list(Table), snapshot_constraints=[
            constraint(Table.SANDBOX, "tool_trace_dependant_similarity", {"sender": Role.AGENT}, 0,
                       fill_to="content", extractor=days_extractor),
            constraint(Table.CONTACT, "snapshot_similarity", {"name": "A"}),
            constraint(Table.REMINDER, "guardrail_similarity", reference=0),
            constraint(Table.MESSAGING, "guardrail_similarity", reference=0),
        ]),
    ])


def scenario(tools, categories, augmentations=()):
    return bag(
        starting_context=Context(rows(), tools, augmentations), max_messages=7, categories=categories,
        evaluation=bag(milestone_matcher=milestones(), minefield_matcher=bag(milestones=[], edge_list=[])),
    )


def scenarios():
    few = ["add_contact", "set_wifi_status", "end_conversation"]
    return {
        "off": scenario(["set_wifi_status", "end_conversation"], [Category.SINGLE_TOOL_CALL, Category.NO_DISTRACTION_TOOLS]),
        "off_3_distraction_tools_tool_name_scrambled": scenario(
            few, [Category.SINGLE_TOOL_CALL, Category.THREE_DISTRACTION_TOOLS, Category.TOOL_NAME_SCRAMBLED], [Category.TOOL_NAME_SCRAMBLED]),
        "off_3_distraction_tools": scenario(few, [Category.SINGLE_TOOL_CALL, Category.THREE_DISTRACTION_TOOLS]),
    }


def namespaces():
    return {table.value: table for table in Table}


def document(found):
    return export.document(found, namespaces(), 100.0, "UTC")


class DocumentTest(unittest.TestCase):
    maxDiff = None

    def test_layout(self):
        got = document(scenarios())
        if os.environ.get("UPDATE"):
            EXPECTED.write_text(json.dumps(got, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        self.assertEqual(json.loads(EXPECTED.read_text(encoding="utf-8")), got)

    def test_variants_follow_the_usual_order(self):
        variants = document(scenarios())["scenarios"][0]["variants"]
        self.assertEqual(["", "_3_distraction_tools", "_3_distraction_tools_tool_name_scrambled"], list(variants))

    def test_a_name_that_only_looks_like_a_variant(self):
        self.assertEqual({"show_all_tools": [""], "a": ["", "_all_tools"]}, export.bases(["show_all_tools", "a", "a_all_tools"]))

    def test_guardrails_of_nodes_that_no_edge_mentions(self):
        found = scenarios()
        for each in found.values():
            each.evaluation.milestone_matcher.edge_list = []
        nodes = document(found)["scenarios"][0]["milestones"]["nodes"]
        self.assertEqual([[], []], [node["guardrails"] for node in nodes])
        self.assertEqual([3, 4], [len(node["constraints"]) for node in nodes])

    def test_no_edges_mean_a_chain(self):
        found = scenarios()
        for each in found.values():
            each.evaluation.milestone_matcher.edge_list = None
        self.assertEqual([[0, 1]], document(found)["scenarios"][0]["milestones"]["edges"])


class MistakeTest(unittest.TestCase):
    def check(self, change, want):
        found = scenarios()
        change(found)
        with self.assertRaises(export.ExportError) as raised:
            document(found)
        self.assertIn(want, str(raised.exception))

    def first(self, found):
        return found["off"].evaluation.milestone_matcher.milestones[0]

    def test_a_missing_attribute(self):
        def change(found):
            del found["off"].evaluation.milestone_matcher
        self.check(change, "off: expected SimpleNamespace to have 'milestone_matcher'; it has minefield_matcher")

    def test_an_unknown_measure(self):
        def change(found):
            self.first(found).snapshot_constraints[0].snapshot_constraint = measure("likeness")
        self.check(change, "off, milestones[0], constraint 0: expected one of snapshot_similarity, ")

    def test_an_extractor_without_a_name(self):
        def change(found):
            found["off"].evaluation.milestone_matcher.milestones[1].snapshot_constraints[0].snapshot_constraint = functools.partial(
                measure("tool_trace_dependant_similarity"), fill_to="content", extractor=lambda trace: [trace])
        self.check(change, "off, milestones[1], constraint 0: expected an extractor with a name")

    def test_an_unknown_argument(self):
        def change(found):
            self.first(found).snapshot_constraints[1].column_similarity_measure["latitude"] = functools.partial(
                measure("column_close_similarity"), rtol_dict={})
        self.check(change, "column latitude: expected no argument but atol_dict, got rtol_dict")

    def test_a_reference_that_is_none(self):
        def change(found):
            self.first(found).snapshot_constraints[1].reference_milestone_node_index = 5
        self.check(change, "off, milestones[0]: expected a reference from -1 to 1, got 5")

    def test_a_variant_with_another_world(self):
        def change(found):
            found["off_3_distraction_tools"].starting_context.rows[Table.SETTING][0]["wifi"] = False
        self.check(change, "off_3_distraction_tools: expected the same tables as off")

    def test_a_gap_in_the_messages(self):
        def change(found):
            found["off"].starting_context.rows[Table.SANDBOX].pop(2)
        self.check(change, "off, messages: expected one message for each index from 0")

    def test_a_cell_of_another_type(self):
        def change(found):
            found["off"].starting_context.rows[Table.SETTING][0]["wifi"] = object()
        self.check(change, "off, table SETTING.wifi: expected null, a boolean, a number, a text or a list, got object")


class ClockTest(unittest.TestCase):
    def test_it_stands_for_the_package_alone(self):
        module, other = types.ModuleType("stopped_package.module"), types.ModuleType("other")
        for each in (module, other):
            vars(each).update(datetime=datetime, time=time, date=datetime.date, moment=datetime.datetime, clock=time.time)
        sys.modules["stopped_package.module"] = module
        self.addCleanup(sys.modules.pop, "stopped_package.module")
        zone = os.environ.get("TZ")
        self.addCleanup(lambda: (os.environ.pop("TZ", None) if zone is None else os.environ.update(TZ=zone), time.tzset()))
        export.set_zone("America/Los_Angeles")
        local = datetime.datetime(2024, 5, 22, 10, 30)
        with export.stopped(1716399000.0, "stopped_package"):
            self.assertEqual([local] * 4, [module.datetime.datetime.now(), module.moment.now(), module.moment.today(),
                                           module.moment.fromtimestamp(module.clock())])
            self.assertEqual(datetime.datetime(2024, 5, 22, 17, 30), module.moment.utcnow())
            self.assertEqual([local.date()] * 2, [module.date.today(), module.datetime.date.today()])
            self.assertEqual(1716399000.0, module.time.time())
            self.assertIs(datetime.datetime, type(module.moment(2024, 11, 22)))
            self.assertEqual(1732303800.0, module.moment(2024, 11, 22, 11, 30).timestamp())  # an hour later, behind the end of summer time
            self.assertIsInstance(local, module.moment)
            self.assertNotIsInstance(local.date(), module.moment)
            self.assertIs(datetime, other.datetime)
            self.assertIs(time.time, other.clock)
        self.assertIs(datetime.datetime, module.moment)
        self.assertIs(time, module.time)


class ProgramTest(unittest.TestCase):
    def install(self, named):
        """Makes a package tool_sandbox with what the exporter imports."""
        modules = {
            "tool_sandbox": {}, "tool_sandbox.common": {},
            "tool_sandbox.common.execution_context": {"DatabaseNamespace": Table},
            "tool_sandbox.common.tool_discovery": {"ToolBackend": Backend},
            "tool_sandbox.scenarios": {"named_scenarios": named},
        }
        for name, content in modules.items():
            module = types.ModuleType(name)
            module.__path__ = []
            vars(module).update(content)
            sys.modules[name] = module
            self.addCleanup(sys.modules.pop, name)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)

    def run_main(self, *arguments):
        printed, mistakes = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(mistakes):
            code = export.main(list(arguments))
        return code, printed.getvalue(), mistakes.getvalue()

    def test_main(self):
        def named(preferred_tool_backend):
            self.assertIs(Backend.DEFAULT, preferred_tool_backend)
            return scenarios()

        self.install(named)
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory) / "scenarios.json"
            code, printed, mistakes = self.run_main("--out", str(out), "--timezone", "UTC", "--now", "2024-05-22T17:30:00")
            self.assertEqual((0, f"{out}: 1 scenarios with their variants, 3 in all\n", ""), (code, printed, mistakes))
            got = json.loads(out.read_text(encoding="utf-8"))
            self.assertEqual([out], list(pathlib.Path(directory).iterdir()))
        want = json.loads(EXPECTED.read_text(encoding="utf-8"))
        self.assertEqual((1716399000.0, "UTC", want["scenarios"]), (got["now"], got["timezone"], got["scenarios"]))

    def test_without_the_original(self):
        code, printed, mistakes = self.run_main("--out", "nowhere/scenarios.json", "--timezone", "UTC")
        self.assertEqual((1, ""), (code, printed))
        self.assertIn("the original cannot be imported", mistakes)

    def test_a_time_that_is_none(self):
        self.install(lambda preferred_tool_backend: scenarios())
        code, _, mistakes = self.run_main("--out", "nowhere/scenarios.json", "--timezone", "UTC", "--now", "noon")
        self.assertEqual((1, "export.py: Invalid isoformat string: 'noon'\n"), (code, mistakes))

    def test_with_something_else(self):
        self.install(lambda preferred_tool_backend: [])
        code, _, mistakes = self.run_main("--out", "nowhere/scenarios.json", "--timezone", "UTC")
        self.assertEqual((1, "export.py: tool_sandbox.scenarios.named_scenarios: expected a dictionary of scenarios by name\n"), (code, mistakes))


if __name__ == "__main__":
    unittest.main()
