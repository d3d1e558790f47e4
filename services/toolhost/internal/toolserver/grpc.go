package toolserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// grpcConnection is a connection to a toolsandbox.tools.v1 server.
type grpcConnection struct {
	name   string
	conn   *grpc.ClientConn
	client toolsv1.ToolServiceClient
}

// dialGRPC returns a connection that connects on the first request.
func dialGRPC(name string, target Target) (connection, error) {
	scheme, address, _ := strings.Cut(target.Address, "://")
	secure := insecure.NewCredentials()
	if scheme == "grpcs" {
		secure = credentials.NewTLS(nil)
	}
	pauses := backoff.DefaultConfig
	pauses.BaseDelay, pauses.MaxDelay = minPause, maxPause
	conn, err := grpc.NewClient("dns:///"+strings.TrimSuffix(address, "/"),
		grpc.WithTransportCredentials(secure),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBody), grpc.MaxCallSendMsgSize(16<<20)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnknown, name, err)
	}
	return &grpcConnection{name: name, conn: conn, client: toolsv1.NewToolServiceClient(conn)}, nil
}

func (g *grpcConnection) close() error { return g.conn.Close() }

// wrapError returns ErrProtocol unless another attempt may help. An error of the server's own code
// is a defect.
func (g *grpcConnection) wrapError(operation string, err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted:
		return fmt.Errorf("%s: %s", operation, status.Convert(err).Message())
	default:
		return fmt.Errorf("%w: %s: %s: %s: %s", ErrProtocol, g.name, operation, status.Code(err), status.Convert(err).Message())
	}
}

func (g *grpcConnection) list(ctx context.Context) ([]*toolsv1.Tool, error) {
	response, err := g.client.ListTools(ctx, &toolsv1.ListToolsRequest{})
	if err != nil {
		return nil, g.wrapError("list tools", err)
	}
	return response.GetTools(), nil
}

func (g *grpcConnection) call(ctx context.Context, request Request) (string, error) {
	text := func(field string) string {
		if value, ok := request.Params.Get(field); ok {
			return python.JSON(value)
		}
		return "{}"
	}
	message := &toolsv1.CallRequest{Tool: nameOnServer(request.Tool), ArgumentsJson: text(FieldArguments), RowsJson: text(FieldRows)}
	if value, ok := request.Params.Get(FieldNow); ok {
		now, _ := value.Number()
		message.Now = &now
	}
	ids, _ := request.Params.Get(FieldIDs)
	list, _ := ids.AsList()
	for _, id := range list {
		text, _ := id.AsStr()
		message.Ids = append(message.Ids, text)
	}
	if parent := telemetry.Traceparent(ctx); parent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, telemetry.TraceparentHeader, parent)
	}
	response, err := g.client.Call(ctx, message)
	if err != nil {
		return "", g.wrapError(request.Tool.GetName(), err)
	}
	body, err := encodeResponse(request.Tool, response)
	if err != nil {
		return "", fmt.Errorf("%w: %s: answer to %s: %w", ErrProtocol, g.name, request.Tool.GetName(), err)
	}
	return body, nil
}

// nameOnServer returns the server's name for a tool.
func nameOnServer(tool *toolsv1.Tool) string { return cmp.Or(tool.GetServerName(), tool.GetName()) }
