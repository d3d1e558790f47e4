package observability

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/instrument"
)

// Reference returns the table of all metrics as Markdown.
func Reference() []byte {
	var out strings.Builder
	out.WriteString("| metric in Prometheus | kind | unit | labels | from | meaning |\n| -- | -- | -- | -- | -- | -- |\n")
	for _, i := range instrument.All() {
		var keys []string
		for _, label := range labels(i.Labels) {
			keys = append(keys, "`"+label+"`")
		}
		fmt.Fprintf(&out, "| `%s` | %s | `%s` | %s | %s | %s |\n", i.Prometheus(), i.Kind, i.Unit, strings.Join(keys, ", "), i.From, i.Help)
	}
	return []byte(out.String())
}
