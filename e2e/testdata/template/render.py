"""Renders the chat template FILE for the requests on stdin, one a line, with the engine and the settings of transformers.

Prints a line of JSON for each: the prompt, or the words of the template's exception.
"""

import json
import pathlib
import sys

import jinja2
import jinja2.sandbox


def raise_exception(words):
    raise jinja2.TemplateError(words)


environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.globals["raise_exception"] = raise_exception
template = environment.from_string(pathlib.Path(sys.argv[1]).read_text())
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"prompt": template.render(messages=request["messages"], tools=request.get("tools"), add_generation_prompt=True)}
    except jinja2.TemplateError as error:
        answer = {"refused": str(error)}
    print(json.dumps(answer), flush=True)
