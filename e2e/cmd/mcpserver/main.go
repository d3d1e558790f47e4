// Command mcpserver is an MCP server for tests, over its standard input and output. Its first
// argument says which one: environment tells the names of its variables, and what it knows of
// DESK_KEY, and cart keeps a cart for each session.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("the first argument is environment or cart")
	}
	s := mcp.NewServer(&mcp.Implementation{Name: args[0], Version: "1"}, nil)
	switch args[0] {
	case "environment":
		serveEnvironment(s)
	default:
		return fmt.Errorf("%q is no server", args[0])
	}
	return s.Run(ctx, &mcp.StdioTransport{})
}

// add adds a tool whose errors are what the model reads.
func add[In, Out any](s *mcp.Server, name, description string, answer func(In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := answer(in)
		return nil, out, err
	})
}

type nothing struct{}

type environment struct {
	Names []string `json:"names"`
	// Sum is the SHA-256 of the key, Key the key itself.
	Sum string `json:"sum"`
	Key string `json:"key"`
}

// serveEnvironment adds tools that tell the environment: in an answer, and as a complaint.
func serveEnvironment(s *mcp.Server) {
	key := os.Getenv("DESK_KEY")
	add(s, "read_environment", "Tells the environment.", func(nothing) (environment, error) {
		fmt.Fprintln(os.Stderr, "the key is", key)
		sum := sha256.Sum256([]byte(key))
		out := environment{Sum: hex.EncodeToString(sum[:]), Key: key}
		for _, variable := range os.Environ() {
			name, _, _ := strings.Cut(variable, "=")
			out.Names = append(out.Names, name)
		}
		slices.Sort(out.Names)
		return out, nil
	})
	add(s, "refuse", "Raises what the environment holds.", func(nothing) (nothing, error) {
		return nothing{}, fmt.Errorf("the key %s does not open this door", key)
	})
}
