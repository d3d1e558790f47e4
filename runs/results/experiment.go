package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// ExperimentFile describes the runs of an experiment, in the directory above theirs.
const ExperimentFile = "experiment.json"

// DecisionFile holds what the runs of agents show that were played until they were told apart, in
// the directory above theirs.
const DecisionFile = "decision.json"

// Experiment is the content of ExperimentFile.
type Experiment struct {
	// Runs are in the order in which they are played.
	Runs []ExperimentRun `json:"runs"`
}

// ExperimentRun is one run of an experiment.
type ExperimentRun struct {
	// Directory is its directory in that of the experiment.
	Directory string `json:"directory"`
	// Settings are those that differ between the runs, without secrets.
	Settings map[string]string `json:"settings"`
}

// ReadExperiment reads ExperimentFile of a directory. The error wraps fs.ErrNotExist without one.
func ReadExperiment(dir string) (*Experiment, error) {
	experiment := &Experiment{}
	if err := readAbove(dir, ExperimentFile, experiment); err != nil {
		return nil, err
	}
	for _, run := range experiment.Runs {
		if run.Directory != filepath.Base(run.Directory) || !filepath.IsLocal(run.Directory) {
			return nil, fmt.Errorf("read %s: %q is no directory in it", storage.Join(dir, ExperimentFile), run.Directory)
		}
	}
	return experiment, nil
}

// readAbove reads a JSON file of a directory of several runs. The error wraps fs.ErrNotExist
// without one.
func readAbove(dir, name string, into any) error {
	path := storage.Join(dir, name)
	data, err := storage.ReadFile(path)
	if errors.Is(err, syscall.ENOTDIR) { // dir is a file
		return fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// WriteExperiment writes ExperimentFile. Runs that an existing one lists besides stay in it.
func WriteExperiment(dir string, experiment *Experiment) error {
	old, err := ReadExperiment(dir)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = &Experiment{}, nil
	}
	if err != nil {
		return err
	}
	all := &Experiment{Runs: slices.Clone(experiment.Runs)}
	for _, run := range old.Runs {
		if !slices.ContainsFunc(all.Runs, func(r ExperimentRun) bool { return r.Directory == run.Directory }) {
			all.Runs = append(all.Runs, run)
		}
	}
	data, err := output.JSON(all, "    ")
	if err != nil {
		return fmt.Errorf("write %s: %w", ExperimentFile, err)
	}
	return WriteFile(storage.Join(dir, ExperimentFile), append(data, '\n'))
}

// RunsOf returns the directories of the runs of an experiment, or of agents that were compared
// until they were told apart, and the names of those without results. ExperimentFile and
// DecisionFile stand for their directories. A directory with neither is a run itself.
func RunsOf(dir string) (dirs, without []string, err error) {
	if name := filepath.Base(dir); (name == ExperimentFile || name == DecisionFile) && isFile(storage.Join(dir, ".."), name) {
		dir = storage.Join(dir, "..")
	}
	names, err := runNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{dir}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if path := storage.Join(dir, name); hasResults(path) {
			dirs = append(dirs, path)
		} else {
			without = append(without, name)
		}
	}
	if len(dirs) == 0 {
		return nil, nil, fmt.Errorf("%s: none of the %d runs of the experiment has results: continue it with --resume", dir, len(names))
	}
	return dirs, without, nil
}

// runNames returns the names of the directories of the runs in a directory. The error wraps
// fs.ErrNotExist if it does not say that it has some.
func runNames(dir string) ([]string, error) {
	experiment, err := ReadExperiment(dir)
	if err == nil {
		names := make([]string, len(experiment.Runs))
		for i, run := range experiment.Runs {
			names[i] = run.Directory
		}
		return names, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var decision struct {
		Agents []struct {
			Directory string `json:"directory"`
		} `json:"agents"`
	}
	if err := readAbove(dir, DecisionFile, &decision); err != nil {
		return nil, err
	}
	if len(decision.Agents) == 0 { // another program's file of that name
		return nil, fs.ErrNotExist
	}
	names := make([]string, len(decision.Agents))
	for i, agent := range decision.Agents {
		names[i] = filepath.Base(agent.Directory)
	}
	return names, nil
}

// hasResults reports whether a run's directory has the results of its last end. Those that cannot
// be read count: their reader says why.
func hasResults(dir string) bool {
	if isFile(dir, SummaryFile) {
		return true
	}
	run, err := ReadRunFile(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return run.Totals != nil
}

// ExperimentOf returns the directory of the experiment that a run's directory belongs to.
func ExperimentOf(run string) (dir string, ok bool) {
	dir = storage.Join(run, "..")
	name, err := storage.Abs(run)
	if err != nil {
		return "", false
	}
	experiment, err := ReadExperiment(dir)
	return dir, err == nil && slices.ContainsFunc(experiment.Runs, func(r ExperimentRun) bool { return r.Directory == filepath.Base(name) })
}
