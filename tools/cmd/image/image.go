package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
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
	out    string // directory of the layouts
	tag    string
	source program.Source
}

// build builds a program for all architectures. It replaces the layout of the program's name below
// the directory out.
func (b *builder) build(ctx context.Context, pkg string) (index v1.ImageIndex, name string, err error) {
	work, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures() {
		binary, err := b.source.Compile(ctx, pkg, program.Platform{OS: "linux", Architecture: architecture}, filepath.Join(work, architecture))
		if err != nil {
			return nil, "", err
		}
		name = filepath.Base(binary)
		build, err := b.source.Build(binary, pkg)
		if err != nil {
			return nil, "", err
		}
		image, err := imageOf(binary, architecture, build)
		if err != nil {
			return nil, "", err
		}
		platform := &v1.Platform{OS: "linux", Architecture: architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		if err := b.writeModules(binary, name, architecture, build.Version); err != nil {
			return nil, "", err
		}
	}
	return index, name, b.writeLayout(index, name)
}

// imageOf returns the image of a program.
func imageOf(binary, architecture string, build program.Build) (v1.Image, error) {
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
		Config: v1.Config{User: nobody, Entrypoint: []string{"/" + entry}, Labels: labels(build)},
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

// labels returns the annotations of OCI that name a build.
func labels(build program.Build) map[string]string {
	labels := map[string]string{"org.opencontainers.image.version": strings.TrimPrefix(build.Version, "v")}
	if build.Commit != "" {
		labels["org.opencontainers.image.revision"] = build.Commit
	}
	return labels
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
func (b *builder) writeLayout(index v1.ImageIndex, name string) error {
	dir := filepath.Join(b.out, name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": b.tag,
		"io.containerd.image.name":          "docker.io/library/" + name + ":" + b.tag,
	}))
}

// writeModules writes the list of a program's modules.
func (b *builder) writeModules(binary, name, architecture, version string) error {
	text, err := program.BillOfMaterials(binary, name, version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.out, name+"-linux-"+architecture+".cdx.json"), text, 0o644)
}
