"""Draws what a command of ToolSandbox prints as an SVG picture of a terminal.

Reads the output from standard input and writes the picture to standard output; the argument is the command. `make picture` runs it.
"""

import re
import sys
from html import escape

COLUMN, LINE, MARGIN, SIZE = 7.83, 19, 18, 13
DIM, PLAIN, GOOD, PARTIAL, BAD, PROMPT = "#8b949e", "#d0d7de", "#56d364", "#e3b341", "#ff7b72", "#79c0ff"


def colour(line: str) -> str:
    """The colour of a line of `explain`: similarities of 1 are good, those of 0 bad."""
    similarity = re.match(r"(?:\w+: similarity|(?:milestone|minefield) \d+ \w+:) ([\d.]+)", line)
    if similarity is None:
        return DIM if line.startswith("    ") else PLAIN
    value = float(similarity[1])
    if line.startswith("minefield"):
        value = 1 - value
    return GOOD if value == 1 else BAD if value == 0 else PARTIAL


def main() -> None:
    output = sys.stdin.read().rstrip("\n").split("\n")
    lines = [("$ " + sys.argv[1], PROMPT)] + [(line, colour(line)) for line in output]
    width = round(max(len(text) for text, _ in lines) * COLUMN + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>')
    print(f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">')
    for number, (text, fill) in enumerate(lines):
        weight = "" if fill in (DIM, PLAIN) else ' font-weight="bold"'
        if text:
            print(f'<text xml:space="preserve" x="{MARGIN}" y="{MARGIN + LINE * number + SIZE}" fill="{fill}"{weight}>{escape(text)}</text>')
    print("</g>")
    print("</svg>")


if __name__ == "__main__":
    main()
