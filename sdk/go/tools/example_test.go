package tools_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/tools"
)

// A tool reads the rows that it declares and changes them. A real server calls tools.Serve(ctx,
// "localhost:9100", …), and a pack names it with {server: library, address: "localhost:9100"}.
func Example() {
	type loan struct {
		Book string `json:"book" doc:"Title of the book."`
	}
	lend := tools.New("lend_book", "Lends a book.", func(_ context.Context, call *tools.Call, a loan) (any, error) {
		for _, row := range call.Rows["loan"] {
			if row["book"] == a.Book {
				return nil, tools.Raise("ValueError", a.Book+" is lent already")
			}
		}
		call.Add("loan", tools.Row{"loan_id": call.IDs[0], "book": a.Book})
		return call.IDs[0], nil
	}, tools.Reads("loan", "book"), tools.Writes("loan"), tools.IDs(1))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- tools.ServeListener(ctx, listener, []tools.Tool{lend}) }()
	for _, rows := range []string{`{"loan": []}`, `{"loan": [{"book": "Emma"}]}`} {
		fmt.Println(callOnce(ctx, listener.Addr().String(), rows))
	}
	cancel()
	fmt.Println("stopped:", <-served)
	// Output:
	// value "l-1" and 1 changes
	// raised ValueError: Emma is lent already
	// stopped: <nil>
}

// callOnce does what the tool host does.
func callOnce(ctx context.Context, address, rows string) string {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close() }()
	answer, err := toolsv1.NewToolServiceClient(conn).Call(ctx, &toolsv1.CallRequest{Tool: "lend_book", ArgumentsJson: `{"book": "Emma"}`, RowsJson: rows, Ids: []string{"l-1"}})
	if err != nil {
		return err.Error()
	}
	if raised := answer.GetRaised(); raised != nil {
		return fmt.Sprintf("raised %s: %s", raised.GetType(), raised.GetText())
	}
	return fmt.Sprintf("value %s and %d changes", answer.GetValueJson(), len(answer.GetChanges()))
}
