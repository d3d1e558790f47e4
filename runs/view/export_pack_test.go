//go:build !race

package view

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/packs"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/describe"
)

// TestWritePack writes the pages of a pack and follows their links.
func TestWritePack(t *testing.T) {
	selection := catalogue.Selection{PackPaths: []string{packs.Timer}}
	loaded, err := selection.Packs(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	tools, confirm := loaded[0].Tools()
	dir := filepath.Join(t.TempDir(), "pages")
	scenarios := func(ctx context.Context) (map[string]*scenariov1.Scenario, error) {
		return selection.ExpandedByName(ctx, io.Discard)
	}
	if err := WritePack(t.Context(), dir, describe.OfPack(loaded[0].Pack, tools, confirm), scenarios, true, io.Discard); err != nil {
		t.Fatal(err)
	}
	pages := linkedPages(t, dir)
	for path, want := range map[string]string{
		"index.html": "Table event", "scenario/tea_and_rice.html": "What counts", "scenario/tea_and_rice.html?tools-plain": "as the agent sees them",
		"scenario/tea_and_rice.html?proof": ">proven</span>",
	} {
		if !strings.Contains(pages[path], want) {
			t.Errorf("%s: got\n%.3000s\nwant %q in it", path, pages[path], want)
		}
	}
}
