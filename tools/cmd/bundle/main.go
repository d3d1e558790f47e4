// Command bundle writes the script and the style of the viewer's pages, minified:
//
//	go run ./tools/cmd/bundle [-check] DIRECTORY
//
// It bundles view.ts and style.css of DIRECTORY into its folder dist. With -check it writes nothing
// and fails if a file there is not what its source says.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run() error {
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("one argument expected: the directory of view.ts and style.css")
	}
	dir := flag.Arg(0)
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, "view.ts"), filepath.Join(dir, "style.css")}, Outdir: filepath.Join(dir, "dist"),
		Bundle: true, Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	})
	if len(built.Errors) > 0 {
		return errors.New(api.FormatMessages(built.Errors, api.FormatMessagesOptions{})[0])
	}
	for _, file := range built.OutputFiles {
		if err := put(file, *check); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file, or compares it.
func put(file api.OutputFile, check bool) error {
	if check {
		old, err := os.ReadFile(file.Path)
		if err == nil && !bytes.Equal(old, file.Contents) {
			err = fmt.Errorf("%s is not what its source says, run `make generate`", file.Path)
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file.Path, file.Contents, 0o644)
}
