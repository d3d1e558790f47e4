package interp

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// agentProgram is a typical program of an agent: 20 lines with three calls.
const agentProgram = `names = ['ann', 'bob', 'eve', 'joe']
found = {}
def label(name, count=1):
    if count > 2:
        return name.upper()
    return f'{name}-{count:02d}'
for i, name in enumerate(names):
    if i == 3:
        continue
    answer = echo(name, index=i)
    found[name] = answer['kwargs']['index']
total = 0
for name in sorted(found):
    total += found[name] * 10 + len(name)
words = [label(n, c) for n, c in found.items() if c >= 0]
longest = max(words, key=lambda w: len(w))
summary = ', '.join(words) + ' / ' + longest
if total > 30:
    summary = summary.replace('-', ' ')
print(summary)
print(total, found, words[1:], len(summary))
`

func BenchmarkAgentProgram(b *testing.B) {
	program, err := syntax.Parse(agentProgram)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if outcome := Run(b.Context(), program, &testHost{}); outcome.Err != nil {
			b.Fatal(outcome.Err)
		}
	}
}

// catchProgram catches 100 exceptions, every tenth raised in 50 nested calls.
const catchProgram = `def deep(n):
    if n:
        return deep(n - 1)
    raise ValueError('deep')
caught = 0
for i in range(100):
    try:
        if i % 10:
            {}['missing']
        deep(50)
    except (KeyError, ValueError):
        caught += 1
print(caught)
`

func BenchmarkCatch(b *testing.B) {
	program, err := syntax.Parse(catchProgram)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if outcome := Run(b.Context(), program, &testHost{}); outcome.Output != "100\n" {
			b.Fatal(outcome.Output, outcome.Err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := syntax.Parse(agentProgram); err != nil {
			b.Fatal(err)
		}
	}
}
