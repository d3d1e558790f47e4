package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/proxy"
)

const (
	// noGRPC is how gRPC begins to tell of an answer that comes from a web server.
	noGRPC = "unexpected HTTP status code"
	// noAddress is what gRPC says of a name that does not resolve.
	noAddress = "produced zero addresses"
	// handshakePrefix is what gRPC puts before each failed handshake.
	handshakePrefix = "authentication handshake failed: "
)

// Check connects to the plug-in at an address and asks for its health, which costs nothing. A
// plug-in that speaks gRPC and does not know that question, or is too busy to answer it in time,
// can play. Errors: ErrAddress, ErrUnavailable with what to do.
func (d *Dialer) Check(ctx context.Context, address string, limit time.Duration) error {
	conn, release, err := d.conns.take(address)
	if errors.Is(err, ErrBusy) {
		return nil // others play at this gateway
	}
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var reached peer.Peer
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.Peer(&reached))
	code, message := status.Code(err), status.Convert(err).Message()
	switch {
	case strings.HasPrefix(message, noGRPC):
		return unreachable(address, "what answers there is no gRPC server: correct its address")
	case err == nil && answer.GetStatus() == healthv1.HealthCheckResponse_NOT_SERVING:
		return unreachable(address, "it says that it does not serve now")
	case reached.Addr != nil && code != codes.Unavailable:
		return nil
	case reached.Addr == nil && code == codes.DeadlineExceeded:
		return unreachable(address, fmt.Sprintf("no gRPC server answered within %s%s: start it or correct its address%s", limit, before(address), advice(address, message)))
	case strings.Contains(message, noAddress):
		return unreachable(address, "no address is known for this name: correct it")
	case strings.Contains(message, handshakePrefix):
		return unreachable(address, plain(message)+before(address)+advice(address, message))
	default:
		return unreachable(address, plain(message)+before(address)+": start it or correct its address"+advice(address, message))
	}
}

// before names the proxy before a plug-in; gRPC takes that of HTTPS_PROXY.
func before(address string) string {
	return proxy.Named(&url.URL{Scheme: "https", Host: strings.TrimPrefix(address, secureScheme)})
}

func unreachable(address, reason string) error {
	return fmt.Errorf("%w: %s: %s", ErrUnavailable, address, shorten(reason, maxReason))
}

// plain takes what gRPC packs around the reason of a failed connection off it.
func plain(message string) string {
	if _, inner, found := strings.Cut(message, `desc = "`); found {
		message = strings.TrimSuffix(inner, `"`)
	}
	message = strings.TrimPrefix(message, "transport: ")
	message = strings.TrimPrefix(message, "Error while dialing: ")
	return strings.TrimPrefix(message, handshakePrefix)
}
