package describe

import (
	"fmt"
	"strings"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// widestLine is the width of a line of a node in a diagram, in characters.
const widestLine = 72

// Mermaid returns a graph of a scenario as a Mermaid flowchart.
func Mermaid(graph *evaluationv1.Graph, setup *setupv1.Setup) string {
	escape := strings.NewReplacer("#", "#35;", "&", "#amp;", "<", "#lt;", ">", "#gt;", `"`, "#quot;")
	var out strings.Builder
	out.WriteString("flowchart TD\n")
	for i, node := range graph.GetNodes() {
		fmt.Fprintf(&out, "    n%d[\"%s\"]\n", i, strings.Join(nodeLines(graph, i, node, setup, escape), "<br/>"))
	}
	for _, edge := range graph.GetEdges() {
		fmt.Fprintf(&out, "    n%d --> n%d\n", edge.GetBefore(), edge.GetAfter())
	}
	return out.String()
}

// DOT returns a graph of a scenario in Graphviz's language.
func DOT(graph *evaluationv1.Graph, setup *setupv1.Setup) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var out strings.Builder
	out.WriteString("digraph {\n    node [shape=box]\n")
	for i, node := range graph.GetNodes() {
		fmt.Fprintf(&out, "    n%d [label=\"%s\\l\"]\n", i, strings.Join(nodeLines(graph, i, node, setup, escape), `\l`))
	}
	for _, edge := range graph.GetEdges() {
		fmt.Fprintf(&out, "    n%d -> n%d\n", edge.GetBefore(), edge.GetAfter())
	}
	out.WriteString("}\n")
	return out.String()
}

// nodeLines returns a node's title and constraints, truncated and escaped.
func nodeLines(graph *evaluationv1.Graph, i int, node *evaluationv1.Node, setup *setupv1.Setup, escape *strings.Replacer) []string {
	lines := append([]string{title(graph, i)}, constraints(graph, node, zone(setup))...)
	for i, line := range lines {
		line = strings.Join(strings.Fields(line), " ")
		if runes := []rune(line); len(runes) > widestLine {
			line = string(runes[:widestLine-1]) + "…"
		}
		lines[i] = escape.Replace(line)
	}
	return lines
}
