package main

import (
	"archive/tar"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
)

// source writes a module with a program into a new directory.
func source(t *testing.T) program.Source {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/hello\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { println(\"hello\") }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return program.Source{Dir: dir, Version: "v1.2.3"}
}

// TestImage builds a program in two directories. The images are equal and hold what they should.
func TestImage(t *testing.T) {
	t.Setenv("GOWORK", "off")
	var first v1.Hash
	var out string
	for range 2 {
		out = t.TempDir()
		b := builder{out: out, tag: "dev", source: source(t)}
		index, name, err := b.build(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil || name != "hello" {
			t.Fatalf("program %q, %v", name, err)
		}
		if first != (v1.Hash{}) && digest != first {
			t.Errorf("second build: got digest %s, want %s of the first", digest, first)
		}
		first = digest
	}
	path, err := layout.FromPath(filepath.Join(out, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(whole); err != nil {
		t.Error(err)
	}
	index, err := whole.ImageIndex(first)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, m.Platform.Architecture)
		if _, err := os.Stat(filepath.Join(out, "hello-linux-"+m.Platform.Architecture+".cdx.json")); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("got platforms %v, want %v", platforms, want)
	}
}

// checkImage checks the configuration and the files of an image.
func checkImage(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != architecture || config.Config.User != nobody || !slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/hello"}) {
		t.Errorf("%s: got configuration %+v", architecture, config)
	}
	if got := config.Config.Labels["org.opencontainers.image.version"]; got != "1.2.3" {
		t.Errorf("%s: got version %q as label, want 1.2.3", architecture, got)
	}
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	sizes := map[string]int64{}
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes[header.Name] = header.Size
	}
	if len(sizes) != 2 || sizes[authorities] < 100_000 || sizes["usr/local/bin/hello"] < 100_000 {
		t.Errorf("%s: got files %v, want the authorities and the program", architecture, sizes)
	}
}

// TestPush pushes an image to a registry and finds it there by its digest.
func TestPush(t *testing.T) {
	t.Setenv("GOWORK", "off")
	server := httptest.NewServer(registry.New())
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	b := builder{out: t.TempDir(), tag: "dev", source: source(t)}
	if err := b.run(t.Context(), ".", host+"/team"); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(host + "/team/hello:dev")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}
