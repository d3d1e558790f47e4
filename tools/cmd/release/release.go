package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
)

const (
	name = "toolsandbox"
	pkg  = "./cmd/toolsandbox"
)

// target is a platform, and the tags of its wheel. A static program needs neither glibc nor musl:
// the tags name the oldest that pip knows.
type target struct {
	program.Platform
	tags []string
}

// platforms returns those of a release. On Windows the program runs in WSL.
func platforms() []target {
	return []target{
		{program.Platform{OS: "linux", Architecture: "amd64"}, []string{"manylinux_2_17_x86_64", "musllinux_1_1_x86_64"}},
		{program.Platform{OS: "linux", Architecture: "arm64"}, []string{"manylinux_2_17_aarch64", "musllinux_1_1_aarch64"}},
		{program.Platform{OS: "darwin", Architecture: "amd64"}, []string{"macosx_12_0_x86_64"}},
		{program.Platform{OS: "darwin", Architecture: "arm64"}, []string{"macosx_12_0_arm64"}},
	}
}

// release builds a release.
type release struct {
	source program.Source
	out    string
	python string
}

// build replaces the directory out.
func (r *release) build(ctx context.Context, targets []target) (err error) {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	sdk, err := sdkWheel(ctx, r.source.Dir, r.python)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for _, t := range targets {
		binary, err := r.source.Compile(ctx, pkg, t.Platform, filepath.Join(work, t.String()))
		if err != nil {
			return err
		}
		if err := r.add(t, sdk, binary); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.addChart(); err != nil {
		return err
	}
	return r.addSums()
}

// add writes the files of a program.
func (r *release) add(t target, sdk *zip.Reader, binary string) error {
	build, err := r.source.Build(binary, pkg)
	if err != nil {
		return err
	}
	if build.Modified && !strings.HasSuffix(build.Version, "-dev") {
		return fmt.Errorf("%s has uncommitted changes: commit them, or release a version that ends in -dev", build.Commit)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	modules, err := program.BillOfMaterials(binary, name, r.source.Version)
	if err != nil {
		return err
	}
	executable, list := file{name: name, data: data, executable: true}, file{name: name + ".cdx.json", data: modules}
	files := []file{executable, list}
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "NOTICE"} {
		data, err := os.ReadFile(filepath.Join(r.source.Dir, name))
		if err != nil {
			return err
		}
		files = append(files, file{name: name, data: data})
	}
	dir := r.stem() + "-" + t.String()
	packed, err := archive(dir, files)
	if err != nil {
		return err
	}
	wheelName, wheelData, err := wheel(sdk, t.tags, executable, list)
	return errors.Join(err, r.write(dir+".tar.gz", packed), r.write(dir+".cdx.json", modules), r.write(wheelName, wheelData))
}

// addChart writes the chart as Helm packs it.
func (r *release) addChart() error {
	files, err := filesIn(filepath.Join(r.source.Dir, "deploy", "chart"))
	if err != nil {
		return err
	}
	packed, err := archive(name, files)
	return errors.Join(err, r.write(r.stem()+".tgz", packed))
}

// addSums writes the digests of all files, as sha256sum --check reads them.
func (r *release) addSums() error {
	files, err := filesIn(r.out)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return os.WriteFile(r.sums(), sums.Bytes(), 0o644)
}

func (r *release) sums() string { return filepath.Join(r.out, "SHA256SUMS") }

// stem returns the beginning of names of files.
func (r *release) stem() string { return name + "-" + strings.TrimPrefix(r.source.Version, "v") }

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
