package plugin

import (
	"errors"
	"testing"
)

// TestAddress dials valid addresses, and rejects others with what was expected.
func TestAddress(t *testing.T) {
	const port = ": expected 1 to 65535"
	const hostPort = ": expected host:port, e.g. localhost:7500"
	for address, want := range map[string]string{
		"localhost:65535":         "",
		"[::1]:1":                 "",
		"grpcs://example.com:443": "",
		"localhost:65536":         `plug-in: address "localhost:65536": port "65536"` + port,
		"grpcs://localhost:95000": `plug-in: address "localhost:95000": port "95000"` + port,
		"localhost:0":             `plug-in: address "localhost:0": port "0"` + port,
		"localhost:-1":            `plug-in: address "localhost:-1": port "-1"` + port,
		"localhost:https":         `plug-in: address "localhost:https": port "https"` + port,
		"localhost:":              `plug-in: address "localhost:": port ""` + port,
		"localhost":               `plug-in: address "localhost"` + hostPort,
		":7500":                   `plug-in: address ":7500"` + hostPort,
		"grpc://localhost:7500":   `plug-in: address "grpc://localhost:7500"` + hostPort,
		"localhost/x:7500":        `plug-in: address "localhost/x:7500"` + hostPort,
		"":                        `plug-in: address ""` + hostPort,
	} {
		conns := newPool(Config{Connections: 1})
		_, release, err := conns.acquire(address)
		switch {
		case want == "" && err != nil, want != "" && (!errors.Is(err, ErrAddress) || err.Error() != want):
			t.Errorf("take(%q): got error %v, want %q", address, err, want)
		case err == nil:
			release()
		}
		if err := conns.close(); err != nil {
			t.Error(err)
		}
	}
}
