// Package s3test runs a server of S3 in a test.
package s3test

import (
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Start starts a server with an empty bucket called bucket, which it keeps in memory until the end
// of the test. It returns the server's address, and sets the variables by which clients find it:
// for this process and those that it starts.
func Start(t *testing.T) (address string) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	for name, value := range Environment(server.URL) {
		t.Setenv(name, value)
	}
	return server.URL
}

// Environment returns the variables by which clients find a server.
func Environment(address string) map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret-of-the-tester", "AWS_REGION": "us-east-1"}
}
