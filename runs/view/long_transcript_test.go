//go:build !race

package view

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestPagedTranscript pages a transcript; a link to a message leads to its page.
func TestPagedTranscript(t *testing.T) {
	scenarios := catalogued(t)
	dir := writeRun(t, scenarios["turn_off_wifi"], "Done.", 1200, "turn_off_wifi")
	withViewer(t, scenarios, func(ctx context.Context, v *Viewer) {
		first, err := v.html(ctx, "A/turn_off_wifi.html", nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := v.html(ctx, "A/turn_off_wifi/page-3.html", nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(first), "id=m500>") || !strings.Contains(string(first), `href="../A/turn_off_wifi/page-3.html"`) {
			t.Errorf("first page: got\n%.2000s", first)
		}
		if !strings.Contains(string(second), "id=m1000>") || !strings.Contains(string(second), `href="../../A/turn_off_wifi.html`) {
			t.Errorf("third page: got\n%.2000s", second)
		}
		whole, err := v.File(ctx, "turn_off_wifi")
		if err != nil || !strings.Contains(string(whole), "id=m1000>") || strings.Contains(string(whole), "href=\"../") {
			t.Errorf("file: got %v and\n%.2000s", err, whole)
		}
	}, dir)
}

// TestExport follows every link of exported pages to a file and an element in it.
func TestExport(t *testing.T) {
	scenarios := catalogued(t)
	scenario := scenarios["turn_off_wifi"]
	dir := filepath.Join(t.TempDir(), "pages")
	withViewer(t, scenarios, func(ctx context.Context, v *Viewer) {
		if _, _, err := v.Export(ctx, dir); err != nil {
			t.Fatal(err)
		}
		if _, _, err := v.Export(ctx, dir); err == nil || !strings.Contains(err.Error(), dir+" is not empty") || strings.Contains(err.Error(), "--export") {
			t.Errorf("second export: got %v, want that the directory is not empty, without a flag, which only some commands have", err)
		}
	}, writeRun(t, scenario, evil, 600, "turn_off_wifi", "odd #1?%41 name"), writeRun(t, scenario, "Done.", 1, "turn_off_wifi"))
	pages := linkedPages(t, dir)
	for _, want := range []string{"rollouts.html", "A/turn_off_wifi.html", "A/turn_off_wifi.html?page-2", "A/turn_off_wifi.html?world-0", "B/turn_off_wifi.html", "compare/turn_off_wifi.html"} {
		if pages[want] == "" {
			t.Errorf("no page %s in %d pages", want, len(pages))
		}
	}
}
