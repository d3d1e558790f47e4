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
	// webServerPrefix begins gRPC's error about an answer of a web server.
	webServerPrefix = "unexpected HTTP status code"
	// noAddressText is gRPC's error about a name that does not resolve.
	noAddressText = "produced zero addresses"
	// handshakePrefix is gRPC's prefix of every failed handshake.
	handshakePrefix = "authentication handshake failed: "
)

// Check connects to the plug-in at an address and asks for its health. A plug-in that speaks gRPC
// passes even if it does not implement health, or is too busy to answer in time. Errors:
// ErrAddress, ErrUnavailable with a remedy.
func (d *Dialer) Check(ctx context.Context, address string, limit time.Duration) error {
	conn, release, err := d.conns.acquire(address)
	if errors.Is(err, ErrTooManyConnections) {
		return nil // the pool is full of plug-ins in use
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
	case strings.HasPrefix(message, webServerPrefix):
		return unreachable(address, "what answers there is no gRPC server: correct its address")
	case err == nil && answer.GetStatus() == healthv1.HealthCheckResponse_NOT_SERVING:
		return unreachable(address, "it says that it does not serve now")
	case reached.Addr != nil && code != codes.Unavailable:
		return nil
	case reached.Addr == nil && code == codes.DeadlineExceeded:
		return unreachable(address, fmt.Sprintf("no gRPC server answered within %s%s: start it or correct its address%s", limit, proxyHint(address), tlsHint(address, message)))
	case strings.Contains(message, noAddressText):
		return unreachable(address, "no address is known for this name: correct it")
	case strings.Contains(message, handshakePrefix):
		return unreachable(address, trimGRPCError(message)+proxyHint(address)+tlsHint(address, message))
	default:
		return unreachable(address, trimGRPCError(message)+proxyHint(address)+": start it or correct its address"+tlsHint(address, message))
	}
}

// proxyHint names the proxy between the gateway and a plug-in. gRPC uses that of HTTPS_PROXY.
func proxyHint(address string) string {
	return proxy.Named(&url.URL{Scheme: "https", Host: strings.TrimPrefix(address, secureScheme)})
}

func unreachable(address, reason string) error {
	return fmt.Errorf("%w: %s: %s", ErrUnavailable, address, shorten(reason, maxReason))
}

// trimGRPCError removes gRPC's prefixes from the reason of a failed connection.
func trimGRPCError(message string) string {
	if _, inner, found := strings.Cut(message, `desc = "`); found {
		message = strings.TrimSuffix(inner, `"`)
	}
	message = strings.TrimPrefix(message, "transport: ")
	message = strings.TrimPrefix(message, "Error while dialing: ")
	return strings.TrimPrefix(message, handshakePrefix)
}
