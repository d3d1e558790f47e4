// Package program compiles Go programs as they are released, and lists their modules.
package program

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Platform is an operating system and an architecture, by Go's names.
type Platform struct{ OS, Architecture string }

// String returns the platform as in names of files: linux-amd64.
func (p Platform) String() string { return p.OS + "-" + p.Architecture }

// Source is a directory with a Go module.
type Source struct {
	Dir string
	// Version is that of the programs in the directory, with a leading v.
	Version string
}

// Open returns the source in a directory. Its version is that of internal/version, or empty if it
// has none.
func Open(dir string) (Source, error) {
	text, err := os.ReadFile(filepath.Join(dir, "internal", "version", "version.go"))
	if os.IsNotExist(err) {
		return Source{Dir: dir}, nil
	}
	found := regexp.MustCompile(`(?m)^const Version = "(.+)"$`).FindSubmatch(text)
	if err == nil && found == nil {
		err = fmt.Errorf("%s/internal/version/version.go has no constant Version", dir)
	}
	if err != nil {
		return Source{}, err
	}
	return Source{Dir: dir, Version: "v" + string(found[1])}, nil
}

// Compile compiles a static program into a new directory and returns its path. It ignores the
// workspace, so the program has the modules that go install would give it. The same source and Go
// version give the same bytes, in any directory.
func (s Source) Compile(ctx context.Context, pkg string, platform Platform, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), pkg)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile for %s: %w: %s", platform, err, out)
	}
	programs, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(programs) != 1 {
		return "", fmt.Errorf("%d programs built, expected one main package", len(programs))
	}
	return filepath.Join(dir, programs[0].Name()), nil
}

// Build is what a compiled program knows of its source.
type Build struct {
	// Version has a leading v. It is that of the source, or of its module if that is another one.
	Version string
	// Commit is empty if the source was in no repository. Modified reports changes since.
	Commit   string
	Modified bool
}

// Build returns the build of a compiled package of the source or of a module that it requires.
func (s Source) Build(binary, pkg string) (Build, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Build{}, err
	}
	build := Build{Version: info.Main.Version}
	if strings.HasPrefix(pkg, ".") {
		build.Version = s.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			build.Commit = setting.Value
		case "vcs.modified":
			build.Modified = setting.Value == "true"
		}
	}
	return build, nil
}
