// Command depcheck fails if a direct dependency of any module of the workspace has no reason in
// docs/dependencies.md, or if a reason is left of one that is gone. Run it in the root of the
// repository; arguments name modules outside go.work.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/toolsandbox/toolsandbox/tools/internal/dependency"
)

const (
	house   = "github.com/toolsandbox/toolsandbox"
	reasons = "docs/dependencies.md"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(extra []string, out, failures io.Writer) int {
	count, err := check(extra)
	if err != nil {
		_, _ = fmt.Fprintf(failures, "depcheck: %v\n", err)
		return 1
	}
	_, _ = fmt.Fprintf(out, "%d direct dependencies have a reason in %s\n", count, reasons)
	return 0
}

func check(extra []string) (count int, err error) {
	markdown, err := os.ReadFile(reasons)
	if err != nil {
		return 0, err
	}
	documented, err := dependency.Documented(markdown)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", reasons, err)
	}
	goWork, err := os.ReadFile("go.work")
	if err != nil {
		return 0, err
	}
	dirs, err := dependency.Modules(goWork)
	if err != nil {
		return 0, err
	}
	users := map[string]string{}
	for _, dir := range append(dirs, extra...) {
		goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return 0, err
		}
		paths, err := dependency.Direct(goMod, house)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", dir, err)
		}
		for _, path := range paths {
			users[path] = dir
		}
	}
	return len(users), compare(users, documented)
}

// compare returns an error for each difference between the dependencies, with a module that uses
// each, and the reasons.
func compare(users map[string]string, documented map[string]bool) error {
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(users)) {
		if !documented[path] {
			errs = append(errs, fmt.Errorf("%s (used by %s) has no reason in %s: add one or drop the dependency", path, users[path], reasons))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(documented)) {
		if _, ok := users[path]; !ok {
			errs = append(errs, fmt.Errorf("%s is in %s but no module requires it: remove the line", path, reasons))
		}
	}
	return errors.Join(errs...)
}
