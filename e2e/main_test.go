package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// bin holds the programs under test; TestMain builds them once.
var bin string

// collect is the GOGC of the programs: they are many and short, and a fifth of their time went into
// collecting garbage.
const collect = "400"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "toolsandbox-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bin = filepath.Join(dir, "bin")
	if err := cluster.Build(context.Background(), "..", bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := errors.Join(
		os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")), // for commands of packs
		os.Setenv("TMPDIR", dir),
		os.Setenv("GOGC", collect),
		os.Setenv("OPENAI_API_KEY", serviceKey),
		os.Setenv("PYTHONPYCACHEPREFIX", filepath.Join(dir, "python")), // so that Python compiles a module once
		os.Setenv("PYTHONDONTWRITEBYTECODE", ""),
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// start starts a cluster that ends with the test.
func start(t *testing.T, env ...string) *cluster.Cluster {
	t.Helper()
	return startCluster(t, cluster.Config{Env: env})
}

// startCluster is start with a configuration that needs no directories.
func startCluster(t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	cfg.Bin, cfg.Dir = bin, t.TempDir()
	c, err := cluster.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
