// Command image builds container images of Go programs into OCI layouts, without a daemon. An image
// is empty but for the static program and the authorities of TLS; it runs as nobody. The same
// source and Go version give the same digest. Beside each layout lies the list of its modules for
// each platform, as CycloneDX.
//
//	go run ./tools/cmd/image -out DIR [-push REGISTRY] PACKAGE...
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/toolsandbox/toolsandbox/tools/internal/program"
)

func main() {
	var b builder
	var registry string
	flag.StringVar(&b.out, "out", "images", "directory of the layouts")
	flag.StringVar(&b.tag, "tag", "dev", "tag of the images")
	flag.StringVar(&registry, "push", "", "also push to this registry, as registry.example.com/team")
	flag.Parse()
	source, err := program.Open(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	b.source = source
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, pkg := range flag.Args() {
		if err := b.run(ctx, pkg, registry); err != nil {
			fmt.Fprintln(os.Stderr, "image:", err)
			os.Exit(1) //nolint:gocritic // nothing to clean up
		}
	}
}

// run builds the image of a package, pushes it and prints its name and digest.
func (b *builder) run(ctx context.Context, pkg, registry string) error {
	index, program, err := b.build(ctx, pkg)
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	where := filepath.Join(b.out, program)
	if registry != "" {
		where = registry + "/" + program
		reference, err := name.ParseReference(where + ":" + b.tag)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push %s: %w", reference, err)
		}
	}
	_, err = fmt.Printf("%s@%s\n", where, digest)
	return err
}
