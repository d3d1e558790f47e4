package toolhost

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// TestCreateReplay creates sessions that replay the answers of hosted services to another one.
func TestCreateReplay(t *testing.T) {
	for _, services := range []toolhostv1.HostedServices{live, record} {
		network := startHosted(t)
		client := network.serve(t, filepath.Join(t.TempDir(), "sessions")).client
		createWith(t, client, "lived", services)
		const ask = "print(repr(convert_currency(amount=1, from_currency_code='USD', to_currency_code='EUR')))"
		var want []string
		for _, index := range []int32{4, 6} {
			want = append(want, say(t, client, "lived", index, ask)...)
		}
		network.setDown(true)
		want = append(want, say(t, client, "lived", 8, "print(repr(search_stock(query='Acme')))")...)
		network.setDown(false)
		given := answers(t, client, "lived")
		network.taken()
		request := &toolhostv1.CreateSessionRequest{SessionId: "again", Setup: smallSetup("small"), HostedServices: services, Replay: true, Answers: given}
		for range 2 { // repeating it changes nothing
			if _, err := client.CreateSession(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, index := range []int32{4, 6} {
			got = append(got, say(t, client, "again", index, ask)...)
		}
		got = append(got, say(t, client, "again", 8, "print(repr(search_stock(query='Acme')))")...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: answers (-lived +again):\n%s", services, diff)
		}
		if diff := cmp.Diff(given, answers(t, client, "again"), protocmp.Transform()); diff != "" {
			t.Errorf("%v: stored answers (-lived +again):\n%s", services, diff)
		}
		other := say(t, client, "again", 10, "print(repr(search_stock(query='Other')))")
		if asks := network.taken(); len(asks) != 0 {
			t.Errorf("%v: requests: got %q, want none (%q)", services, asks, other)
		}
		request = &toolhostv1.CreateSessionRequest{SessionId: "forked", Setup: smallSetup("small"), HostedServices: services, Answers: given[:1]}
		if _, err := client.CreateSession(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		forked := say(t, client, "forked", 4, ask)
		if diff := cmp.Diff(want[:1], forked); diff != "" || len(network.taken()) != 0 {
			t.Errorf("%v: answer that is given without a replay (-want +got), and no request:\n%s", services, diff)
		}
		if other := say(t, client, "forked", 6, "print(repr(search_stock(query='Other')))"); len(network.taken()) == 0 {
			t.Errorf("%v: after the given answers: got %q without a request", services, other)
		}
		broken := proto.CloneOf(given[0])
		broken.Recording.ResponseJson = "{"
		_, err := client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{
			SessionId: "broken", Setup: smallSetup("small"), HostedServices: services, Replay: true, Answers: []*toolhostv1.ServiceAnswer{given[0], broken},
		})
		wantCode(t, "replay of an answer that is no JSON", err, codes.InvalidArgument)
		if !strings.Contains(status.Convert(err).Message(), "answers[1]") {
			t.Errorf("replay of an answer that is no JSON: got %v, want an error that names it", err)
		}
		_, err = client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "again", Setup: smallSetup("small"), HostedServices: services})
		wantCode(t, "create without replay", err, codes.AlreadyExists)
	}
}
