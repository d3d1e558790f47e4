// Command deploycheck builds the kustomizations given as arguments and checks what comes out,
// without a cluster.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/toolsandbox/toolsandbox/tools/internal/manifest"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(dirs []string, out, failures io.Writer) int {
	if len(dirs) == 0 {
		_, _ = fmt.Fprintln(failures, "deploycheck: no directory given: name each kustomization")
		return 2
	}
	code := 0
	for _, dir := range dirs {
		objects, err := manifest.Build(dir)
		if err == nil {
			err = manifest.Check(objects)
		}
		if err != nil {
			_, _ = fmt.Fprintf(failures, "deploycheck: %s:\n%v\n", dir, err)
			code = 1
			continue
		}
		_, _ = fmt.Fprintf(out, "%s: %d objects fit together\n", dir, len(objects))
	}
	return code
}
