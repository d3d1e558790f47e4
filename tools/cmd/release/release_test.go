package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
)

var root = filepath.Join("..", "..", "..")

// python returns that of the virtual environment of make.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, ".bin", "venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: `make .bin/venv/ready` installs it", err)
	}
	return path
}

// output runs a program in a directory and returns what it prints on standard output.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, printed, stderr.Bytes())
	}
	return string(printed)
}

// here returns the platform of this machine.
func here(t *testing.T) []target {
	t.Helper()
	for _, p := range platforms() {
		if p.Platform == (program.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}) {
			return []target{p}
		}
	}
	t.Fatalf("no release for %s/%s", runtime.GOOS, runtime.GOARCH)
	return nil
}

// TestWheel packs a program of a few bytes. RECORD lists each file with its digest, and the program
// alone is executable.
func TestWheel(t *testing.T) {
	sdk, err := sdkWheel(t.Context(), root, python(t))
	if err != nil {
		t.Fatal(err)
	}
	executable, list := file{name: name, data: []byte("#!/bin/sh\n"), executable: true}, file{name: "toolsandbox.cdx.json", data: []byte("{}")}
	wheelName, data, err := wheel(sdk, platforms()[0].tags, executable, list)
	if err != nil {
		t.Fatal(err)
	}
	if suffix := "-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"; !strings.HasPrefix(wheelName, "toolsandbox-") || !strings.HasSuffix(wheelName, suffix) {
		t.Errorf("got name %q, want one that ends in %q", wheelName, suffix)
	}
	packed, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names, executables []string
	for _, entry := range packed.File {
		names = append(names, entry.Name)
		if entry.Mode()&0o111 != 0 {
			executables = append(executables, entry.Name)
		}
	}
	info := strings.TrimSuffix(names[len(names)-1], "/RECORD")
	if want := []string{strings.TrimSuffix(info, ".dist-info") + ".data/scripts/toolsandbox"}; !slices.Equal(executables, want) {
		t.Errorf("got executables %q, want %q", executables, want)
	}
	record, err := read(packed.File[len(packed.File)-1])
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(record)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, row := range rows {
		recorded = append(recorded, row[0])
	}
	if !slices.Equal(recorded, names) {
		t.Errorf("RECORD lists\n%q, want\n%q", recorded, names)
	}
	for _, want := range []string{"toolsandbox/agent/__init__.py", "toolsandbox/agent/py.typed", "toolsandbox/tools/v1/tools_pb2.pyi", info + "/METADATA", info + "/WHEEL", info + "/licenses/LICENSE", info + "/licenses/NOTICE", info + "/sboms/toolsandbox.cdx.json"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
}

// TestUncommitted builds a version from a changed checkout: only one before a release may be.
func TestUncommitted(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/house\n\ngo 1.26\n")
	write("cmd/toolsandbox/main.go", "package main\n\nfunc main() {}\n")
	write("internal/version/version.go", "package version\n\nconst Version = \"1.2.3\"\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "First"}} {
		output(t, dir, "git", args...)
	}
	write("cmd/toolsandbox/more.go", "package main\n")
	source, err := program.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := source.Compile(t.Context(), pkg, here(t)[0].Platform, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := release{source: source, out: t.TempDir()}
	if err := r.add(here(t)[0], nil, binary); err == nil || !strings.Contains(err.Error(), "has uncommitted changes") {
		t.Errorf("%s: got %v, want an error that names uncommitted changes", source.Version, err)
	}
}
