//go:build release

package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
)

const modulePath = "github.com/toolsandbox/toolsandbox"

// source is a file of the module. The proxy serves it as it is now.
type source string

func (s source) Path() string                 { return string(s) }
func (s source) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(root, string(s))) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(root, string(s))) }

// serve writes the module of the repository into a new directory, as a proxy of modules. It returns
// the environment of go commands that use it, and of this machine only other modules.
func serve(t *testing.T, version string) []string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(modulePath), "@v")
	var files []modzip.File
	for _, name := range sources(t) {
		files = append(files, source(name))
	}
	var packed bytes.Buffer
	if err := modzip.Create(&packed, module.Version{Path: modulePath, Version: version}, files); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": []byte(`{"Version":"` + version + `"}`),
		version + ".mod": inZip(t, packed.Bytes(), modulePath+"@"+version+"/go.mod"), version + ".zip": packed.Bytes(),
	} {
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known := strings.TrimSpace(output(t, ".", "go", "env", "GOMODCACHE"))
	others := strings.TrimSpace(output(t, ".", "go", "env", "GOPROXY"))
	return append(os.Environ(), "GOWORK=off", "GOPATH="+t.TempDir(), "GOBIN=", "GOMODCACHE=", "GOSUMDB=off", "CGO_ENABLED=0",
		// -trimpath lets the compiled packages of earlier builds be used.
		"GOFLAGS=-modcacherw -trimpath", "GOPROXY=file://"+dir+",file://"+filepath.Join(known, "cache", "download")+","+others)
}

// inZip returns a file of a zip archive.
func inZip(t *testing.T, packed []byte, name string) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range archive.File {
		if entry.Name == name {
			data, err := read(entry)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	t.Fatalf("%s is missing", name)
	return nil
}

// TestGoInstall installs the program from a proxy of modules with go install, in an empty
// directory, and plays a scenario. Another module imports the Go SDK. It needs neither NATS nor
// bbolt.
func TestGoInstall(t *testing.T) {
	opened, err := program.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	const version = "v0.987.0" // of nobody
	env := serve(t, version)
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, env
		printed, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, printed)
		}
		return string(printed)
	}
	dir := t.TempDir()
	run(dir, "go", "install", modulePath+"/cmd/toolsandbox@"+version)
	gopath := strings.TrimSpace(run(dir, "go", "env", "GOPATH"))
	installed := filepath.Join(gopath, "bin", name)
	if got, want := run(dir, installed, "version"), "toolsandbox "+strings.TrimPrefix(opened.Version, "v")+", "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run(dir, installed, "run", "--agent", "oracle", "--out", "out", "turn_off_wifi"); !strings.Contains(got, "ALL_CATEGORIES") {
		t.Errorf("got %s, want the table of a run", got)
	}

	agent := t.TempDir()
	text := "package main\n\nimport _ \"" + modulePath + "/sdk/go/agent\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(agent, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(agent, "go", "mod", "init", "example.com/agent")
	run(agent, "go", "get", modulePath+"/sdk/go/agent@"+version)
	run(agent, "go", "build", "-o", "agent", ".")
	for _, path := range strings.Fields(run(agent, "go", "list", "-deps", ".")) {
		if strings.Contains(path, "nats") || strings.Contains(path, "bbolt") {
			t.Errorf("the SDK imports %s", path)
		}
	}
}
