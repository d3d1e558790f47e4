package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

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

// Export writes the pages as files into a directory that does not exist or is empty, and returns
// their number and size in bytes. The worlds at each message are left out: a rollout's page has
// what every message changed.
func (v *Viewer) Export(ctx context.Context, dir string) (count int, size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return 0, 0, process.UsageErrorf("--export: %s is not empty", dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("export: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, 0, fmt.Errorf("export: %w", err)
	}
	root, err := os.OpenRoot(dir) // names of rollouts are whatever the files of a run say
	if err != nil {
		return 0, 0, fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	e := &exporter{viewer: v, root: root}
	err = e.all(ctx)
	return e.count, e.size, err
}

// exporter writes files below a directory.
type exporter struct {
	viewer *Viewer
	root   *os.Root
	count  int
	size   int64
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
	paths := []string{"index.html", "rollouts.html"}
	if len(e.viewer.runs) > 1 {
		paths = append(paths, "compare.html")
	}
	seen := make(map[string]bool)
	once := func(path string) {
		if !seen[path] {
			seen[path], paths = true, append(paths, path)
		}
	}
	for _, r := range e.viewer.runs {
		for i := range r.rollouts {
			rollout := r.rollouts[i]
			once(rolloutPath(r.Letter, rollout.Name))
			if name := e.viewer.shownScenario(rollout); name != "" {
				once(scenarioPath(name))
			}
			if len(e.viewer.runs) > 1 {
				once(comparePath(rollout.Scenario))
			}
		}
	}
	for _, escaped := range paths {
		if err := e.page(ctx, escaped); err != nil {
			return err
		}
	}
	return nil
}

// page writes a page, and the further pages of a long transcript.
func (e *exporter) page(ctx context.Context, escaped string) error {
	p, err := e.viewer.at(ctx, escaped, nil, true)
	if err != nil {
		return fmt.Errorf("export %s: %w", escaped, err)
	}
	content, err := p.render()
	if err != nil {
		return err
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return err
	}
	if err := e.write(name, content); err != nil {
		return err
	}
	body, ok := p.Body.(*rolloutBody)
	if !ok || body.here != escaped {
		return nil
	}
	for _, further := range body.Pages {
		if further.Path != "" {
			if err := e.page(ctx, further.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) write(name string, content []byte) error {
	if err := e.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := e.root.WriteFile(name, content, 0o644); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	e.count++
	e.size += int64(len(content))
	return nil
}
