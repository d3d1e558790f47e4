"""Writes random calls with comprehensions, and what Python 3.11 makes of them, one JSON object a line: python3.11 comprehension.py COUNT SEED."""

import ast
import json
import random
import sys

NAMES = {"FN_CALL_DELIMITER": "<<function>>", "json": json, "ast": ast}


class Writer:
    """Writes random expressions."""

    def __init__(self, random: random.Random) -> None:
        self.random = random

    def atom(self, names: list[str]) -> str:
        if names and self.random.random() < 0.6:
            return self.random.choice(names)
        return self.random.choice(["0", "1", "2", "-3", "2.5", "'a'", "'bc'", "''", "None", "True", "[]", "(1, 2)", "[3, 'd']", "FN_CALL_DELIMITER", "{'k': 1}"] + ["w"] * (self.random.random() < 0.05))

    def value(self, names: list[str], depth: int) -> str:
        pick = self.random.random()
        if depth <= 0 or pick < 0.25:
            return self.atom(names)
        a, b = (lambda: self.value(names, depth - 1)), (lambda: self.value(names, depth - 2))
        if pick < 0.45:
            return f"({a()} {self.random.choice(['+', '*', '*', '==', '==', '!=', '!=', '<', '-', 'in', '%', '//', 'and', 'and', 'or', 'or', '|', 'is'])} {b()})"
        if pick < 0.5:
            return f"({a()} if {b()} else {b()})"
        if pick < 0.58:
            return self.random.choice(["[{}, {}]", "({}, {})", "{{'x': {}, 'y': {}}}", "[*{}, {}]", "{{{}, {}}}"]).format(a(), b())
        if pick < 0.63:
            return f"{a()}[{self.random.choice(['0', '-1', '1:', '::-1', b()])}]"
        if pick < 0.66:
            return f"(not {a()})"
        if pick < 0.69:
            return f"(q := {b()})" if self.random.random() < 0.5 else f"(x := {b()})"
        return self.comprehension(names, depth)

    def comprehension(self, names: list[str], depth: int) -> str:
        clauses, inner = [], list(names)
        for i in range(self.random.choice([1, 1, 1, 2, 2, 3])):
            outer = list(inner)
            target = self.random.choice(["x", "y", "z"] * 6 + ["a, b", "(a, [b, *c])", "*a, b", "_", "a.b"])
            clauses.append(f"for {target} in {self.source(outer if i else names, depth - 1)}")
            inner += [name for name in ("x", "y", "z", "a", "b", "c", "_") if name in target and "." not in target]
            for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
                clauses.append(f"if {self.value(inner, depth - 1)}")
        made, text = self.value(inner, depth - 1), " ".join(clauses)
        form = self.random.choice(["[{} {}]"] * 6 + ["{{'k': {} {}}}", "{{{} {}}}", "({} {})", "[*({} {})]", "set({} {})"])
        if form == "{{'k': {} {}}}":
            return f"{{{self.value(inner, depth - 2)}: {made} {text}}}"
        return form.format(made, text)

    def source(self, names: list[str], depth: int) -> str:
        pick = self.random.random()
        if pick < 0.35:
            return self.random.choice(["range(3)", "range(3)", "range(2)", "range(1, 4)", "range(5, 0, -2)", "'abc'", "[1, 2, 3]", "[(1, 2), (3, 4)]", "{'k': 1, 'l': 2}", "[[1, [2, 3]], (4, 'ab')]", "['ab', 'cd']", "b'ab'"])
        if pick < 0.5 and names:
            return self.random.choice(names)
        if pick < 0.7:
            return "(" + self.comprehension(names, depth) + ")"
        return f"[{self.value(names, depth)}, {self.value(names, depth)}]" if pick < 0.9 else self.value(names, depth)


def made(source: str) -> str:
    try:
        call = ast.parse(source).body[0].value
        values = {keyword.arg: eval(ast.unparse(keyword.value), dict(NAMES)) for keyword in call.keywords}
    except Exception:
        return ""
    try:
        return f"f({json.loads(json.dumps(values))!r})"
    except Exception:
        return "no JSON"


def main() -> None:
    random.seed(int(sys.argv[2]))
    writer = Writer(random.Random(int(sys.argv[2])))
    for _ in range(int(sys.argv[1])):
        source = f"f(v=[{writer.comprehension([], random.choice([1, 2, 2, 3]))}])"
        print(json.dumps({"source": source, "want": made(source)}))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
