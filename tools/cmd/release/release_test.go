package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
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

// sources returns the files of the repository as they are now, with those that are not committed.
func sources(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	listed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00")
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return os.IsNotExist(err) // removed, not committed
	})
}

// copied copies the repository into a new directory, which is in no repository.
func copied(t *testing.T) program.Source {
	t.Helper()
	dir := t.TempDir()
	for _, name := range sources(t) {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	source, err := program.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// python returns that of the virtual environment of make.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, ".bin", "venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: `make test-long` installs it", err)
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

// TestLongRelease builds a release of this platform from two copies of the repository, with equal
// digests, and uses it: the wheel in a clean virtual environment, and the archive.
func TestLongRelease(t *testing.T) {
	var sums []string
	var out, version string
	for range 2 {
		source := copied(t)
		out, version = t.TempDir(), strings.TrimPrefix(source.Version, "v")
		r := release{source: source, out: filepath.Join(out, "release"), python: python(t)}
		if err := r.build(t.Context(), here(t)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(r.sums())
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 4 {
		t.Fatalf("got digests\n%sand\n%swant equal ones of four files", sums[0], sums[1])
	}
	out = filepath.Join(out, "release")
	t.Run("wheel", func(t *testing.T) { useWheel(t, out, version) })
	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		unpack(t, filepath.Join(out, name+"-"+version+"-"+here(t)[0].String()+".tar.gz"), dir)
		extracted := filepath.Join(dir, name+"-"+version+"-"+here(t)[0].String())
		if got, want := output(t, dir, filepath.Join(extracted, name), "version"), "toolsandbox "+version+", commit unknown, "+runtime.Version()+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, name := range []string{"CHANGELOG.md", "LICENSE", "NOTICE", "toolsandbox.cdx.json"} {
			if info, err := os.Stat(filepath.Join(extracted, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// useWheel installs the wheel into a clean virtual environment, plays the first command of the
// README, imports the SDK and uninstalls the wheel.
func useWheel(t *testing.T, out, version string) {
	t.Helper()
	wheels, err := filepath.Glob(filepath.Join(out, "*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("got wheels %q and %v, want one", wheels, err)
	}
	dir := t.TempDir()
	output(t, dir, python(t), "-m", "venv", "clean")
	bin := filepath.Join(dir, "clean", "bin")
	output(t, dir, filepath.Join(bin, "pip"), "--disable-pip-version-check", "install", "--quiet", wheels[0])
	output(t, dir, filepath.Join(bin, "pip"), "--disable-pip-version-check", "check")
	installed := filepath.Join(bin, name)
	if got, want := output(t, dir, installed, "version"), "toolsandbox "+version+", "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	table := output(t, dir, installed, "run", "--agent", "oracle", "--out", "out")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); !slices.Equal(strings.Fields(lines[len(lines)-1])[:2], []string{"ALL_CATEGORIES", "1.000"}) {
		t.Errorf("got table\n%s", table)
	}
	output(t, dir, filepath.Join(bin, "python"), "-c", "from toolsandbox.agent import serve; from toolsandbox.tools import v1")
	output(t, dir, filepath.Join(bin, "pip"), "--disable-pip-version-check", "uninstall", "--quiet", "--yes", name)
	if _, err := os.Stat(installed); !os.IsNotExist(err) {
		t.Errorf("uninstalled: got %v for the program, want that it is missing", err)
	}
}

func unpack(t *testing.T, path, dir string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(compressed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, header.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
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

// TestWindows compiles the program for Windows. The one error names what to do.
func TestWindows(t *testing.T) {
	source := program.Source{Dir: root}
	_, err := source.Compile(t.Context(), pkg, program.Platform{OS: "windows", Architecture: "amd64"}, t.TempDir())
	if err == nil || strings.Count(err.Error(), "undefined") != 1 || !strings.Contains(err.Error(), "on_Windows_run_the_Linux_program_in_WSL") {
		t.Errorf("got %v, want one error that names WSL", err)
	}
}
