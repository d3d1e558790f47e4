package play

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// These are the names of the files below results.StateDirectory.
const (
	// recordingDirectory holds the recording of a run, below results.StateDirectory: the
	// specification, and a file per rollout, named after its number in the plan. All are
	// length-prefixed messages.
	recordingDirectory = "recording"
	// specificationFile holds a SweepSpec without scenarios, then the scenarios.
	specificationFile = "specification"
	// playerAddressFile holds the addresses of the people at the terminal, by role.
	playerAddressFile = "terminal.json"
	// socketFile is the unix socket at which sweep commands reach the run.
	socketFile = "control/orchestrator.sock"
	// lockFile is the lock of the process that plays the run.
	lockFile = "run.lock"
)

// directory is the output directory of a run.
type directory struct {
	path string
	// release ends the lock against other processes of the machine.
	release func() error
}

// openDirectory makes the output directory and locks it against other processes. It accepts a
// directory with a run only to resume it, and rejects any other content. The remains of a failed
// start count as neither.
func openDirectory(path string, resume bool) (*directory, error) {
	d := &directory{path: path}
	if err := d.check(resume); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.data(), 0o755); err != nil {
		return nil, fmt.Errorf("output directory %s cannot be made: %w: choose another --out", path, err)
	}
	var err error
	if d.release, err = standalone.Lock(storage.Join(d.data(), lockFile)); err != nil {
		return nil, fmt.Errorf("output directory %s %w", path, err)
	}
	if err := d.check(resume); err != nil { // another process may have played a run meanwhile
		return nil, errors.Join(err, d.release())
	}
	return d, nil
}

// check rejects a directory in which no run can start, or continue.
func (d *directory) check(resume bool) error {
	started, err := HasRun(d.path)
	if err != nil {
		return unreadable(d.path, err)
	}
	switch {
	case resume && !started:
		return process.UsageErrorf("--resume: the run in %s has lost its %s: restore a copy of it, or start the run again with another --out", d.path, results.RunFile)
	case resume:
		return nil
	case started:
		return process.UsageErrorf("--out: %s holds a run: continue it with --resume or choose another directory", d.path)
	}
	names, err := storage.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(d.path, err)
	}
	if slices.Contains(names, results.ExperimentFile) {
		return process.UsageErrorf("--out: %s holds an experiment: continue it with its --config and --resume, or choose another directory", d.path)
	}
	for _, name := range names {
		if name == results.SummaryFile {
			return process.UsageErrorf("--out: %s holds the results of a run: choose another directory", d.path)
		}
		if allowed := name == results.StateDirectory+"/" || name == "."+results.RunFile+".new"; !allowed {
			return process.UsageErrorf("--out: %s holds %s, which is not of a run: choose an empty or a new directory", d.path, strings.TrimSuffix(name, "/"))
		}
	}
	return nil
}

// hasStarted reports whether a directory holds a run or what is left of one. --resume starts a run
// in any other directory.
func hasStarted(path string) (bool, error) {
	if started, err := HasRun(path); started || err != nil {
		return started, err
	}
	return storage.Exists(storage.Join(path, results.SummaryFile))
}

func unreadable(path string, err error) error {
	return fmt.Errorf("output directory %s cannot be read: %w: choose another --out", path, err)
}

// data returns the default directory for the services' data. That of a run in a bucket is in the
// user's directory for caches.
func (d *directory) data() string {
	if !storage.IsBucket(d.path) {
		return filepath.Join(d.path, results.StateDirectory)
	}
	caches, err := os.UserCacheDir()
	if err != nil { // no home directory
		caches = os.TempDir()
	}
	return filepath.Join(caches, "toolsandbox", hexSum(d.path)[:16])
}

// runFile identifies the run.
func (d *directory) runFile() string { return storage.Join(d.path, results.RunFile) }

// recordings returns the directory of the run's recording.
func (d *directory) recordings() string {
	return storage.Join(d.path, results.StateDirectory, recordingDirectory)
}

// playerAddressFile returns the file of the addresses of people.
func (d *directory) playerAddressFile() string { return storage.Join(d.data(), playerAddressFile) }

// trajectory returns the directory of a rollout.
func (d *directory) trajectory(name string) string {
	return storage.Join(d.path, results.TrajectoriesDirectory, name)
}

// DataDirectory returns the default directory of a run's services' data, which is that of its
// experiment if it belongs to one. out is the run's output directory.
func DataDirectory(out string) string {
	if experiment, ok := results.ExperimentOf(out); ok {
		out = experiment
	}
	return (&directory{path: out}).data()
}

// Socket returns the unix socket of the run that plays into an output directory.
func Socket(out string) string {
	return storage.Join(DataDirectory(out), filepath.FromSlash(socketFile))
}

// HasRun returns whether a run has started in an output directory.
func HasRun(out string) (bool, error) { return storage.Exists((&directory{path: out}).runFile()) }
