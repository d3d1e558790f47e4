package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// maxShownInstances bounds the processes that WriteInstances lists of one player.
const maxShownInstances = 5

// WriteInstances prints one line for each attached player whose turns several processes answered.
func WriteInstances(w io.Writer, players ...results.Player) error {
	for _, p := range players {
		n := len(p.Instances)
		if n < 2 {
			continue
		}
		var shown []string
		for _, i := range p.Instances[:min(n, maxShownInstances)] {
			from := ""
			if i.Peer != "" {
				from = " from " + i.Peer
			}
			shown = append(shown, fmt.Sprintf("%s%s (%d)", cmp.Or(i.ID, "one without an id"), from, i.Turns))
		}
		if n > maxShownInstances {
			shown = append(shown, "…")
		}
		if _, err := fmt.Fprintf(w, "%d processes answered the turns of %s (see answered_by in %s): %s\n", n, p.Name, results.RunFile, strings.Join(shown, ", ")); err != nil {
			return err
		}
	}
	return nil
}
