// Command mcpserver is an MCP server for tests, over standard input and output. The first argument
// selects it:
//
//   - environment returns the names of its variables and reveals DESK_KEY.
//   - cart keeps a cart for each session.
//   - stubborn never answers. It and its child ignore requests to terminate. They keep the file of
//     the second argument open.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

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
		return errors.New("the first argument is environment, cart or stubborn")
	}
	s := mcp.NewServer(&mcp.Implementation{Name: args[0], Version: "1"}, nil)
	switch args[0] {
	case "stubborn":
		return stay(ctx, args[1:])
	case "environment":
		serveEnvironment(s)
	case "cart":
		serveCart(s)
	default:
		return fmt.Errorf("%q is no server", args[0])
	}
	return s.Run(ctx, &mcp.StdioTransport{})
}

// stay starts a child of this program, reports that in a file, and never ends.
func stay(ctx context.Context, args []string) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if len(args) == 0 { // the child
		return wait(ctx)
	}
	file, err := os.OpenFile(args[0], os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	other := exec.CommandContext(ctx, os.Args[0], "stubborn")
	other.ExtraFiles = []*os.File{file}
	if err := other.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(file, "ready"); err != nil {
		return err
	}
	return wait(ctx)
}

// wait never returns.
func wait(ctx context.Context) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1) // without it, Go reports a deadlock
	<-ctx.Done()
	return ctx.Err()
}

// add adds a tool. The model sees its errors.
func add[In, Out any](s *mcp.Server, name, description string, answer func(In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := answer(in)
		return nil, out, err
	})
}

type noArguments struct{}

type environment struct {
	Names []string `json:"names"`
	// Sum is the SHA-256 of the key. Key is the key itself.
	Sum string `json:"sum"`
	Key string `json:"key"`
}

// serveEnvironment adds tools that reveal the environment: one in an answer, one in an error.
func serveEnvironment(s *mcp.Server) {
	key := os.Getenv("DESK_KEY")
	add(s, "read_environment", "Tells the environment.", func(noArguments) (environment, error) {
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
	add(s, "refuse", "Raises what the environment holds.", func(noArguments) (noArguments, error) {
		return noArguments{}, fmt.Errorf("the key %s does not open this door", key)
	})
}

type line struct {
	Product  string `json:"product" jsonschema:"what it is called"`
	Quantity int    `json:"quantity" jsonschema:"how many"`
}

type cart struct {
	Lines []line `json:"lines"`
	Items int    `json:"items"`
}

type delivery struct {
	Address string `json:"address" jsonschema:"where it goes"`
}

type receipt struct {
	Items  int    `json:"items"`
	Number string `json:"order_number"`
}

// serveCart adds the tools of a shop with one cart.
func serveCart(s *mcp.Server) {
	kept, orders := cart{Lines: []line{}}, 0
	add(s, "put_in_cart", "Puts products in the cart and tells what is in it.", func(in line) (cart, error) {
		if in.Quantity < 1 {
			return cart{}, fmt.Errorf("the quantity is %d, expected at least 1", in.Quantity)
		}
		at := slices.IndexFunc(kept.Lines, func(l line) bool { return l.Product == in.Product })
		if at < 0 {
			at, kept.Lines = len(kept.Lines), append(kept.Lines, line{Product: in.Product})
		}
		kept.Lines[at].Quantity += in.Quantity
		kept.Items += in.Quantity
		return cart{slices.Clone(kept.Lines), kept.Items}, nil
	})
	add(s, "show_cart", "Tells what is in the cart.", func(noArguments) (cart, error) { return kept, nil })
	add(s, "check_out", "Orders what is in the cart and empties it.", func(delivery) (receipt, error) {
		if kept.Items == 0 {
			return receipt{}, errors.New("the cart is empty")
		}
		orders++
		out := receipt{kept.Items, fmt.Sprintf("C-%d", orders)}
		kept = cart{Lines: []line{}}
		return out, nil
	})
}
