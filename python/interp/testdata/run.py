"""Runs programs, a JSON text a line, and writes what each prints and the last line of its traceback."""

import contextlib
import io
import json
import sys
import traceback

for line in sys.stdin:
    output, exception = io.StringIO(), ""
    with contextlib.redirect_stdout(output):
        try:
            exec(compile(json.loads(line), "<input>", "exec"), {"__name__": "__console__"})
        except BaseException as raised:
            exception = traceback.format_exception_only(type(raised), raised)[-1].strip()
    print(json.dumps({"output": output.getvalue(), "exception": exception}))
