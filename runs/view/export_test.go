package view

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestExportDamaged exports a run of which one rollout is damaged and another one is missing. Their
// pages say so, and the others are as ever.
func TestExportDamaged(t *testing.T) {
	scenarios := catalogued(t)
	run := writeRun(t, scenarios["turn_off_wifi"], "Done.", 1, "turn_off_wifi", "is_cellular_on", "wifi_was_on_already")
	if err := os.WriteFile(filepath.Join(run, results.TrajectoriesDirectory, "is_cellular_on", "execution_context.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(run, results.TrajectoriesDirectory, "wifi_was_on_already")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "pages")
	withViewer(t, scenarios, func(ctx context.Context, v *Viewer) {
		if _, _, err := v.Export(ctx, dir); err != nil {
			t.Fatal(err)
		}
	}, run)
	pages := linkedPages(t, dir)
	for name, want := range map[string]string{
		"A/turn_off_wifi.html": "Done.", "A/turn_off_wifi.html?world-0": "SETTING",
		"A/is_cellular_on.html": "damaged", "A/wifi_was_on_already.html": "execution_context.json is damaged: file does not exist",
	} {
		if !strings.Contains(pages[name], want) {
			t.Errorf("%s: got\n%s\nwant %q in it", name, pages[name], want)
		}
	}
}

// linkedPages reads exported pages and follows each of their links.
func linkedPages(t *testing.T, dir string) map[string]string {
	t.Helper()
	pages, files := readExport(t, dir)
	links := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for name, content := range pages {
		for _, found := range links.FindAllStringSubmatch(content, -1) {
			if found[1] == "data:," {
				continue
			}
			link, err := url.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
			if err != nil {
				t.Errorf("%s: link %q: %v", name, found[1], err)
				continue
			}
			target := name
			if link.Path != "" {
				target = path.Join(path.Dir(name), link.EscapedPath())
			}
			if link.RawQuery != "" && target != "rollouts.html" {
				target += "?" + link.RawQuery
			}
			page, ok := pages[target]
			if files[target] {
				continue
			}
			if !ok || link.Fragment != "" && !regexp.MustCompile(`id="?`+regexp.QuoteMeta(link.Fragment)+`["> ]`).MatchString(page) {
				t.Errorf("%s: link %q leads nowhere", name, found[1])
			}
		}
	}
	return pages
}

// readExport reads exported pages by their escaped paths, as their script does, and the names of
// the other files.
func readExport(t *testing.T, dir string) (pages map[string]string, files map[string]bool) {
	t.Helper()
	pages, files = make(map[string]string), make(map[string]bool)
	data := regexp.MustCompile(`src="(?:\.\./)*(data/\d+\.js)" defer></script></head><body data-page="([^"]*)"`)
	if err := filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		name, _ := filepath.Rel(dir, file)
		if !strings.HasSuffix(name, ".html") {
			files[name] = true
			return err
		}
		found := data.FindStringSubmatch(string(content))
		if found == nil {
			pages[name] = string(content)
			return err
		}
		own, err := url.PathUnescape(html.UnescapeString(found[2]))
		if err != nil || own != name {
			t.Errorf("%s: its page is %q, %v", name, own, err)
		}
		for path, content := range readChunk(t, filepath.Join(dir, found[1])) {
			pages[path] = content
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return pages, files
}

// readChunk reads the pages of a chunk.
func readChunk(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	encoded, ok := strings.CutPrefix(strings.TrimSuffix(string(content), `")`), `viewChunk("`)
	compressed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !ok {
		t.Fatalf("%s: got %.80q and %v", file, content, err)
	}
	var c chunk
	if err := json.NewDecoder(flate.NewReader(bytes.NewReader(compressed))).Decode(&c); err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]string)
	for name, parts := range c.Pages {
		var lines []string
		for i := 0; i < len(parts); i += 2 {
			lines = append(lines, c.Lines[parts[i]:parts[i]+parts[i+1]]...)
		}
		pages[name] = strings.Join(lines, "\n")
	}
	return pages
}

// TestExportFails exports rollouts of which a later one has no file: its name leads out of the
// directory, is too long, or the export is interrupted. It leaves nothing, also in a directory that
// existed.
func TestExportFails(t *testing.T) {
	for name, bad := range map[string]string{"outside": "../../out", "far outside": "a/../../../out", "too long": strings.Repeat("long", 100), "interrupted": "interrupt"} {
		for _, existing := range []bool{false, true} {
			parent := t.TempDir()
			dir := filepath.Join(parent, "pages")
			if existing {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: "good", Similarity: "0.5"}, {Name: bad, Similarity: "0.5"}}}
			v := New([]*analysis.Run{analysis.OpenRun("dir", summary, new(results.Reader))}, nil, nil)
			ctx, cancel := context.WithCancel(t.Context())
			read := v.runs[0].read
			v.runs[0].read = func(ctx context.Context, rollout string, schema *world.Schema) (*Trajectory, error) {
				if rollout == "interrupt" {
					cancel()
				}
				return read(ctx, rollout, schema)
			}
			if _, _, err := v.Export(ctx, dir); err == nil {
				t.Errorf("%s: got no error", name)
			}
			cancel()
			if existing {
				if err := os.Remove(dir); err != nil { // it has to be empty
					t.Errorf("%s: %v", name, err)
				}
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
				t.Errorf("%s, existing %v: got %v and %v, want nothing left", name, existing, left, err)
			}
		}
	}
}
