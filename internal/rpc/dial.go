package rpc

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// dialReason explains why no connection came about, in gRPC's words if they are unknown here.
func dialReason(said string) string {
	const closes = "it closes the connection; it may use TLS (--tls-cert, --tls-key, --tls-ca), or is none of the services"
	for _, known := range []struct{ part, reason string }{
		{"connection refused", "nothing listens there"},
		{"no such host", "the host is unknown"},
		{"no children to pick from", "the host is unknown"},
		{"frame too large", "another server answers, which is none of the services"},
		{"does not look like a TLS handshake", "it does not use TLS; leave out --tls-cert, --tls-key and --tls-ca"},
		{"error reading server preface", closes},
		{"broken pipe", closes},
		{"connection reset", closes},
	} {
		if strings.Contains(said, known.part) {
			return known.reason
		}
	}
	if _, desc, ok := strings.Cut(said, "connection error: desc = "); ok {
		return strings.Trim(desc, `"`)
	}
	return said
}

// isForeign reports whether a server answered as no gRPC server does.
func isForeign(err error) bool {
	said := status.Convert(err).Message()
	return strings.Contains(said, "unexpected HTTP status code") || strings.Contains(said, "content-type") ||
		status.Code(err) == codes.Unimplemented && strings.Contains(said, "unknown service")
}

// checkAddress returns an error for an address that cannot be dialled. It may be a target of gRPC,
// such as dns:///host:port.
func checkAddress(address string) error {
	scheme, _, isTarget := strings.Cut(address, "://")
	if isTarget && scheme != "http" && scheme != "https" {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil || isTarget {
		return fmt.Errorf("%q given, expected HOST:PORT, e.g. localhost:7401", address)
	}
	return nil
}
