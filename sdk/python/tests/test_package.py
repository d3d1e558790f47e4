"""What the package needs of Python and of others."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parent.parent
OLDEST = (3, 9)
"""The oldest Python that the package runs on."""


def sources() -> "list[pathlib.Path]":
    return [*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/*.py"), *ROOT.glob("tests/*.py")]


class Package(unittest.TestCase):
    def test_syntax_is_that_of_the_oldest_python(self) -> None:
        self.assertGreater(len(sources()), 10)
        for path in sources():
            with self.subTest(path.name):
                ast.parse(path.read_text(), feature_version=OLDEST)

    def test_oldest_python_is_declared(self) -> None:
        text = ".".join(str(part) for part in OLDEST)
        self.assertIn(f'requires-python = ">={text}"', (ROOT / "pyproject.toml").read_text())
        self.assertIn(f"Python {text} or newer", (ROOT / "README.md").read_text())

    def test_imports_nothing_private_of_others(self) -> None:
        for path in ROOT.glob("src/**/*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module != "__future__":
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                with self.subTest(path.name):
                    self.assertEqual([name for name in names if re.search(r"(^|\.)_", name)], [])


if __name__ == "__main__":
    unittest.main()
