package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// dataFolder has the chunks of an exported directory.
const dataFolder = "data"

// File returns the page of a rollout of the first run as one file, with style and script in it. The
// rollout has to exist.
func (v *Viewer) File(ctx context.Context, rollout string) ([]byte, error) {
	contents, err := newWhole()
	if err != nil {
		return nil, err
	}
	p := &page{Whole: contents}
	if err := v.rolloutPage(ctx, p, v.runs[0].Letter, rollout, 0, nil); err != nil {
		return nil, err
	}
	return p.render()
}

// write plays the proofs, if they are wanted, writes the pages as files as Export does, and prints
// where they are.
func (v *Viewer) write(ctx context.Context, dir string, proofs bool, stderr io.Writer) error {
	if proofs {
		if err := v.proveAll(ctx); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	count, size, err := v.Export(ctx, dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "pages: %s, %d files, %.1f MB\n", filepath.Join(dir, "index.html"), count, float64(size)/1e6)
	return err
}

// Export writes the pages as files into a directory that does not exist or is empty, and returns
// their number and size in bytes; after a failure there are none of them. The first page is
// complete; of the others a file has the title, and the script takes the page from a chunk.
func (v *Viewer) Export(ctx context.Context, dir string) (count int, size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return 0, 0, process.UsageErrorf("%s is not empty: choose another directory for the pages", dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("export: %w", err)
	}
	files, err := storage.NewBatch(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("export: %w", err)
	}
	e := &exporter{viewer: v, files: files, open: newChunk()}
	_, err = files.End(e.all(ctx))
	return e.count, e.size, err
}

// exporter writes files below a directory.
type exporter struct {
	viewer *Viewer
	files  *storage.Batch
	count  int
	size   int64
	open   *chunk
	chunks int
}

func (e *exporter) all(ctx context.Context) error {
	for _, name := range []string{styleFile, scriptFile} {
		content, err := asset(name)
		if err == nil {
			err = e.write(name, content)
		}
		if err != nil {
			return err
		}
	}
	for _, escaped := range e.paths() {
		p, err := e.viewer.at(ctx, escaped, nil, true)
		if err != nil {
			return fmt.Errorf("export %s: %w", escaped, err)
		}
		body, isScenario := p.Body.(*scenarioBody)
		if err = e.page(escaped, p); err == nil && isScenario {
			err = e.ofScenario(body)
		}
		if err == nil {
			err = e.next(false)
		}
		if err != nil {
			return fmt.Errorf("export %s: %w", escaped, err)
		}
	}
	for _, r := range e.viewer.runs {
		for i := range r.rollouts {
			err := e.rollout(ctx, r, i)
			if err == nil {
				err = e.next(false)
			}
			if err != nil {
				return fmt.Errorf("export %s: %w", rolloutPath(r.Letter, r.rollouts[i].Name), err)
			}
		}
	}
	return e.next(true)
}

// paths are the pages besides those of rollouts.
func (e *exporter) paths() []string {
	paths := []string{"index.html"}
	if e.viewer.pack == nil {
		paths = append(paths, "rollouts.html")
	}
	for _, name := range e.viewer.scenarioNames() {
		paths = append(paths, scenarioPath(name))
	}
	if len(e.viewer.runs) < 2 {
		return paths
	}
	paths = append(paths, "compare.html")
	seen := make(map[string]bool)
	for _, r := range e.viewer.runs {
		for i := range r.rollouts {
			if name := r.rollouts[i].Scenario; !seen[name] {
				seen[name] = true
				paths = append(paths, comparePath(name))
			}
		}
	}
	return paths
}

// ofScenario writes the pages with the tools of a scenario's variants, and with its proof.
func (e *exporter) ofScenario(scenario *scenarioBody) error {
	for _, variant := range scenario.Variants {
		p := e.viewer.newPage(1, true)
		if err := e.viewer.toolsPage(p, scenario.Name, variant.Name); err != nil {
			return err
		}
		if err := e.page(subPath(scenarioPath(scenario.Name), "tools", variant.Name, true), p); err != nil {
			return err
		}
	}
	if scenario.Proof == "" {
		return nil
	}
	p := e.viewer.newPage(1, true)
	if err := e.viewer.proofPage(p, scenario.Name); err != nil {
		return err
	}
	return e.page(scenario.Proof, p)
}

// rollout writes the pages of a rollout: its transcript, and the world wherever it changed.
func (e *exporter) rollout(ctx context.Context, r *run, at int) error {
	told, err := e.viewer.explain(ctx, r, r.rollouts[at])
	if err != nil {
		return err
	}
	here := rolloutPath(r.Letter, r.rollouts[at].Name)
	newPage := func() *page { return e.viewer.newPage(strings.Count(here, "/"), true) }
	for number := range pagesOf(len(told.Messages), transcriptPage) {
		p := newPage()
		if err := e.viewer.toldPage(p, r, at, told, number, nil); err != nil {
			return err
		}
		if err := e.page(subPath(here, "page", strconv.Itoa(number+1), true), p); err != nil {
			return err
		}
	}
	if told.Scenario == nil {
		return nil
	}
	for _, message := range worldStops(told) {
		p := newPage()
		if err := e.viewer.toldWorld(p, r, at, told, message); err != nil {
			return err
		}
		if err := e.page(subPath(here, "world", strconv.Itoa(message), true), p); err != nil {
			return err
		}
	}
	return nil
}

// page adds a page to the open chunk, and writes its file unless it is a further page of another
// one. The first page of all is a file with its content.
func (e *exporter) page(escaped string, p *page) error {
	content, err := p.render()
	if err != nil {
		return err
	}
	if escaped == "index.html" {
		return e.write(escaped, content)
	}
	e.open.add(escaped, content)
	if strings.Contains(escaped, "?") {
		return nil
	}
	p.template, p.Body = "stub", stub{escaped, e.chunkName()}
	if content, err = p.render(); err != nil {
		return err
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return err
	}
	return e.write(name, content)
}

// stub is the content of a file whose page is in a chunk.
type stub struct{ Path, Chunk string }

func (e *exporter) chunkName() string { return fmt.Sprintf("%s/%d.js", dataFolder, e.chunks) }

// next begins another chunk if the open one is full, or anyway.
func (e *exporter) next(anyway bool) error {
	if len(e.open.Pages) == 0 || !anyway && !e.open.full() {
		return nil
	}
	content, err := e.open.file()
	if err == nil {
		err = e.write(e.chunkName(), content)
	}
	e.open = newChunk()
	e.chunks++
	return err
}

func (e *exporter) write(name string, content []byte) error {
	if err := e.files.Add(name, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	e.count++
	e.size += int64(len(content))
	return nil
}
