//go:build release

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// TestRelease builds a release of this platform from two copies of the repository, with equal
// digests, and uses it: the wheel in a clean virtual environment, and the archive.
func TestRelease(t *testing.T) {
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

// TestWindows compiles the program for Windows. The one error names what to do.
func TestWindows(t *testing.T) {
	source := program.Source{Dir: root}
	_, err := source.Compile(t.Context(), pkg, program.Platform{OS: "windows", Architecture: "amd64"}, t.TempDir())
	if err == nil || strings.Count(err.Error(), "undefined") != 1 || !strings.Contains(err.Error(), "on_Windows_run_the_Linux_program_in_WSL") {
		t.Errorf("got %v, want one error that names WSL", err)
	}
}
