"""Draws a trace of Jaeger as an SVG timeline.

Reads a trace of Jaeger's query API from standard input and writes the picture to standard output. `make trace-picture` runs it.
"""

import json
import sys
from html import escape

LINE, MARGIN, SIZE, LABEL, CHART, VALUE = 24, 18, 13, 270, 560, 190
BACKGROUND, GRID, DIM, PLAIN, BAD = "#0d1117", "#21262d", "#8b949e", "#d0d7de", "#ff7b72"
COLOURS = {"evaluator": "#79c0ff", "agentgw": "#56d364", "toolhost": "#e3b341", "orchestrator": "#d2a8ff"}
NOTES = ("http.response.status_code", "gen_ai.response.finish_reasons", "toolsandbox.score")


def tags(span: dict) -> dict:
    """The attributes of a span."""
    return {tag["key"]: tag["value"] for tag in span["tags"]}


def ordered(spans: list) -> list:
    """The spans with their depths, each parent before its children, by start."""
    children: dict = {}
    for span in spans:
        parent = next((r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"), None)
        children.setdefault(parent, []).append(span)
    rows = []

    def visit(parent, depth):
        for span in sorted(children.get(parent, []), key=lambda s: (s["startTime"], s["operationName"])):
            rows.append((span, depth))
            visit(span["spanID"], depth + 1)

    visit(None, 0)
    return rows


def note(value) -> str:
    """The value of an attribute for people."""
    return f"score {value:.3f}" if isinstance(value, float) else str(value).strip('[]"')


def duration(micros: int) -> str:
    """A duration for people."""
    return f"{micros / 1e6:.2f} s" if micros >= 1e6 else f"{micros / 1e3:.1f} ms"


def text(x: float, y: float, fill: str, words: str, anchor: str = "start") -> str:
    """A text of the picture."""
    return f'<text xml:space="preserve" x="{x:.0f}" y="{y:.0f}" fill="{fill}" text-anchor="{anchor}">{escape(words)}</text>'


def main() -> None:
    trace = json.load(sys.stdin)
    rows = ordered(trace["spans"])
    root = rows[0][0]
    begin, length = root["startTime"], max(root["duration"], 1)
    width, height = 2 * MARGIN + LABEL + CHART + VALUE, 2 * MARGIN + LINE * (len(rows) + 2)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>')
    print(f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">')
    for part in range(5):
        x = MARGIN + LABEL + CHART * part / 4
        print(f'<path d="M{x:.1f} {MARGIN + LINE}V{height - MARGIN - LINE}" stroke="{GRID}"/>')
        print(text(x, MARGIN + SIZE, DIM, duration(length * part // 4), "middle"))
    for number, (span, depth) in enumerate(rows):
        top = MARGIN + LINE * (number + 1)
        attributes, service = tags(span), trace["processes"][span["processID"]]["serviceName"]
        colour = BAD if attributes.get("error") is True else COLOURS[service]
        start = MARGIN + LABEL + CHART * (span["startTime"] - begin) / length
        bar = max(CHART * span["duration"] / length, 2)
        print(text(MARGIN + 16 * depth, top + SIZE + 3, PLAIN, span["operationName"]))
        print(f'<rect x="{start:.1f}" y="{top + 5}" width="{bar:.1f}" height="{LINE - 10}" rx="2" fill="{colour}"/>')
        notes = " ".join(note(attributes[key]) for key in NOTES if key in attributes)
        print(text(MARGIN + LABEL + CHART + 12, top + SIZE + 3, DIM, f"{duration(span['duration'])}  {notes}".rstrip()))
    x = MARGIN
    for service in sorted({process["serviceName"] for process in trace["processes"].values()}):
        print(f'<rect x="{x}" y="{height - MARGIN - 11}" width="11" height="11" rx="2" fill="{COLOURS[service]}"/>')
        print(text(x + 18, height - MARGIN, DIM, service))
        x += 150
    print("</g>")
    print("</svg>")


if __name__ == "__main__":
    main()
