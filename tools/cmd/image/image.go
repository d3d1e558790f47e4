package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// nobody is the user and group of containers.
	nobody = "65532:65532"
	// authorities is the file where crypto/x509 looks for the system's certificates.
	authorities = "etc/ssl/certs/ca-certificates.crt"
)

// epoch is the time of all files and images.
var epoch = time.Unix(0, 0).UTC()

// architectures are those of an image.
func architectures() []string { return []string{"amd64", "arm64"} }

// builder builds images.
type builder struct {
	out string // directory of the layouts
	tag string
	dir string // working directory of the go command
}

// build builds a program for all architectures. It replaces the layout of the program's name below
// the directory out.
func (b *builder) build(ctx context.Context, pkg string) (index v1.ImageIndex, program string, err error) {
	work, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures() {
		binary, err := b.compile(ctx, pkg, architecture, filepath.Join(work, architecture))
		if err != nil {
			return nil, "", err
		}
		program = filepath.Base(binary)
		image, err := imageOf(binary, architecture)
		if err != nil {
			return nil, "", err
		}
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		if err := b.writeModules(binary, program, architecture); err != nil {
			return nil, "", err
		}
	}
	return index, program, b.writeLayout(index, program)
}

// compile compiles a static program into a directory and returns its path.
func (b *builder) compile(ctx context.Context, pkg, architecture, dir string) (string, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", dir+string(filepath.Separator), pkg)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile for %s: %w: %s", architecture, err, out)
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

// imageOf returns the image of a program.
func imageOf(binary, architecture string) (v1.Image, error) {
	raw, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	roots, err := trusted()
	if err != nil {
		return nil, err
	}
	entry := path.Join("usr/local/bin", filepath.Base(binary))
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: architecture, OS: "linux", Created: v1.Time{Time: epoch}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: nobody, Entrypoint: []string{"/" + entry}},
	})
	if err != nil {
		return nil, err
	}
	for _, file := range []struct {
		name string
		mode int64
		raw  []byte
	}{{authorities, 0o644, roots}, {entry, 0o755, raw}} {
		layer, err := layerOf(file.name, file.mode, file.raw)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// trusted returns the authorities of TLS that the Go team bundles, in PEM. It leaves out those
// whose trust has a limit that PEM cannot state.
func trusted() ([]byte, error) {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// layerOf returns a layer with one file.
func layerOf(name string, mode int64, raw []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(raw)), ModTime: epoch, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// writeLayout writes an index as an OCI layout that containerd imports under the program's name.
func (b *builder) writeLayout(index v1.ImageIndex, program string) error {
	dir := filepath.Join(b.out, program)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": b.tag,
		"io.containerd.image.name":          "docker.io/library/" + program + ":" + b.tag,
	}))
}

// writeModules writes the list of a program's modules.
func (b *builder) writeModules(binary, program, architecture string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	text, err := billOfMaterials(info, program)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.out, program+"-linux-"+architecture+".cdx.json"), text, 0o644)
}
