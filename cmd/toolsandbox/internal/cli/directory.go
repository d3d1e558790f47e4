package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolsandbox/toolsandbox/internal/launch"
	"github.com/toolsandbox/toolsandbox/internal/results"
)

// stateDirectory is where a run keeps what it needs to go on, below its output directory.
const stateDirectory = ".toolsandbox"

// directory is the output directory of a run.
type directory struct{ path string }

// runFile says which run a directory belongs to.
type runFile struct {
	SweepID string `json:"sweep_id"`
	// Round is the last round of the sweep that this run asked for: one for each --resume.
	Round int32 `json:"round,omitempty"`
	// Damaged are the rollouts whose stored trajectory could not be read when their files were to be written: --resume plays them again.
	Damaged []string `json:"damaged,omitempty"`
}

// openDirectory makes the output directory. A directory that holds a run is only accepted to resume it. What a start that failed left
// there is no run.
func openDirectory(path string, resume bool) (*directory, error) {
	d := &directory{path: path}
	_, runErr := os.Stat(d.runFile())
	_, summaryErr := os.Stat(filepath.Join(path, results.SummaryFile))
	switch {
	case resume && runErr != nil:
		return nil, d.noRun()
	case !resume && runErr == nil:
		return nil, launch.Usage("--out: %s holds a run already: go on with --resume or choose another directory", path)
	case !resume && summaryErr == nil:
		return nil, launch.Usage("--out: %s holds the results of a run already: choose another directory", path)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("output directory %s cannot be made: %w: choose another --out", path, err)
	}
	return d, nil
}

// noRun says that there is nothing to go on with.
func (d *directory) noRun() error {
	return launch.Usage("--resume: no interrupted run in %s: start it without --resume", d.path)
}

// data returns the default directory for the services' data.
func (d *directory) data() string { return filepath.Join(d.path, stateDirectory) }

// run returns which run the directory belongs to.
func (d *directory) run() (runFile, error) {
	raw, err := os.ReadFile(d.runFile())
	if errors.Is(err, fs.ErrNotExist) {
		return runFile{}, d.noRun()
	}
	if err != nil {
		return runFile{}, fmt.Errorf("resume: %w", err)
	}
	var stored runFile
	if err := json.Unmarshal(raw, &stored); err != nil {
		return runFile{}, fmt.Errorf("resume: read %s: %w", d.runFile(), err)
	}
	return stored, nil
}

// runFile is where that is kept.
func (d *directory) runFile() string { return filepath.Join(d.path, stateDirectory, "run.json") }

// claim notes which run the directory belongs to.
func (d *directory) claim(run runFile) error {
	path := d.runFile()
	raw, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return putFile(path, raw)
}

// putFile makes a file appear whole or not at all, and the directory that it is in.
func putFile(path string, raw []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replaceFile(path, raw, filePermission); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
