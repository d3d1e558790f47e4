package toolhost

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// digestOf returns the digest of a setup.
func digestOf(tb testing.TB, setup *setupv1.Setup) string {
	tb.Helper()
	digest, _, err := bus.Digest(setup)
	if err != nil {
		tb.Fatal(err)
	}
	return digest
}

// TestCreateByDigest creates sessions by the digest of a setup: one that the host has, and one that
// is stored on the bus.
func TestCreateByDigest(t *testing.T) {
	nats := natstest.Start(t)
	file := filepath.Join(t.TempDir(), storeFile)
	server := serve(t, file, nats, ownsAll)
	setup := smallSetup("small")
	digest := digestOf(t, setup)
	request := &toolhostv1.CreateSessionRequest{SessionId: "s.1", SetupDigest: digest}
	_, err := server.client.CreateSession(t.Context(), request)
	wantCode(t, "a digest that the host does not know", err, codes.NotFound)
	_, err = server.client.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: "s.1"})
	wantCode(t, "the session that was refused", err, codes.NotFound)

	want := create(t, server.client, "s.0", setup)
	if len(want.GetAgentTools()) == 0 || len(want.GetUserTools()) == 0 || want.GetToolsDigest() == "" {
		t.Fatalf("response to a whole setup: got %v, want tools of both roles and their digest", want)
	}
	for _, when := range []string{"from memory", "again", "from the file"} {
		if when == "from the file" {
			server.close()
			server = serve(t, file, nats, ownsAll)
			request.SessionId = "s.2"
		}
		got, err := server.client.CreateSession(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: response (-want +got):\n%s", when, diff)
		}
	}
	if diff := cmp.Diff(want, create(t, server.client, "s.1", setup), protocmp.Transform()); diff != "" {
		t.Errorf("the same session from the whole setup (-want +got):\n%s", diff)
	}
	run(t, server.client, "s.2", 3, addContact(2, "Bob"))
	if diff := cmp.Diff([]string{"Ann", "Bob"}, names(t, server.client, "s.2", 3)); diff != "" {
		t.Errorf("contacts of a session made by digest (-want +got):\n%s", diff)
	}
	stored := smallSetup("stored")
	if _, err := nats.PutSetup(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	byName, err := server.client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "s.3", SetupDigest: digestOf(t, stored)})
	if diff := cmp.Diff(want, byName, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("session of a setup on the bus: error %v (-want +got):\n%s", err, diff)
	}
	session, err := server.client.GetSession(t.Context(), &toolhostv1.GetSessionRequest{SessionId: "s.2"})
	if err != nil || session.GetSession().GetSetupDigest() != digest || session.GetSession().GetSetupName() != "small" {
		t.Errorf("session made by digest: got %v, error %v, want setup small with digest %s", session, err, digest)
	}
}

// TestCreateRefused creates sessions with invalid setups and sessions. The error for an unknown
// setup differs from all others.
func TestCreateRefused(t *testing.T) {
	client := start(t)
	setup := smallSetup("small")
	known, other := digestOf(t, setup), digestOf(t, smallSetup("other"))
	create(t, client, "s", setup)
	create(t, client, "t", smallSetup("other"))
	tests := []struct {
		name    string
		request *toolhostv1.CreateSessionRequest
		want    codes.Code
		about   string
	}{
		{"neither", &toolhostv1.CreateSessionRequest{SessionId: "n"}, codes.InvalidArgument, "setup, setup_digest: neither"},
		{"both", &toolhostv1.CreateSessionRequest{SessionId: "n", Setup: setup, SetupDigest: known}, codes.InvalidArgument, "setup, setup_digest: both"},
		{"no digest", &toolhostv1.CreateSessionRequest{SessionId: "n", SetupDigest: "small"}, codes.InvalidArgument, `setup_digest: "small"`},
		{"upper case", &toolhostv1.CreateSessionRequest{SessionId: "n", SetupDigest: strings.Repeat("A", 64)}, codes.InvalidArgument, "setup_digest"},
		{"unknown", &toolhostv1.CreateSessionRequest{SessionId: "n", SetupDigest: strings.Repeat("a", 64)}, codes.NotFound, "no such setup"},
		{"unknown, session exists", &toolhostv1.CreateSessionRequest{SessionId: "s", SetupDigest: strings.Repeat("a", 64)}, codes.NotFound, "no such setup"},
		{"another session's setup", &toolhostv1.CreateSessionRequest{SessionId: "s", SetupDigest: other}, codes.AlreadyExists, "session s"},
		{"other services", &toolhostv1.CreateSessionRequest{SessionId: "s", SetupDigest: known, HostedServices: offline}, codes.AlreadyExists, "session s"},
		{"a replay", &toolhostv1.CreateSessionRequest{SessionId: "s", SetupDigest: known, Replay: true}, codes.AlreadyExists, "session s"},
	}
	for _, test := range tests {
		_, err := client.CreateSession(t.Context(), test.request)
		wantCode(t, test.name, err, test.want)
		if got := status.Convert(err).Message(); !strings.Contains(got, test.about) {
			t.Errorf("%s: got %q, want an error about %q", test.name, got, test.about)
		}
	}
}

// TestToolsFollowFromSetup checks that the tools of a session depend only on the setup.
func TestToolsFollowFromSetup(t *testing.T) {
	client := start(t)
	setup := smallSetup("small")
	setup.Tools = &setupv1.ToolSelection{Allow: []string{"add_contact", "end_conversation"}}
	want := create(t, client, "whole", setup)
	for number := range toolhostv1.HostedServices_name {
		services := toolhostv1.HostedServices(number)
		for kind, replay := range map[string]bool{"new": false, "replay": true} {
			id := kind + services.String()
			got, err := client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{
				SessionId: id, SetupDigest: digestOf(t, setup), HostedServices: services, Replay: replay,
			})
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s: response (-want +got):\n%s", id, diff)
			}
		}
	}
	if other := create(t, client, "other", smallSetup("small")); other.GetToolsDigest() == want.GetToolsDigest() {
		t.Errorf("digest of other tools: got %s, want another one", other.GetToolsDigest())
	}
}
