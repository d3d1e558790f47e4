package rpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestCountParts(t *testing.T) {
	nested := &toolhostv1.CreateSessionRequest{SessionId: "s", Setup: &setupv1.Setup{Messages: []*worldv1.Message{{}, {}, {}}}}
	encoded, err := proto.Marshal(nested)
	if err != nil {
		t.Fatal(err)
	}
	d := nested.ProtoReflect().Descriptor()
	for _, test := range []struct {
		name string
		data []byte
		most int
		want int
	}{
		{"nothing", nil, 10, 0},
		{"text, setup and its messages", encoded, 10, 5},
		{"more than are allowed", encoded, 3, 4},
		{"cut off", encoded[:len(encoded)-1], 10, 1},
		{"an unknown field", []byte("\xfa\x3f\x01x"), 10, 1},
		{"no field at all", []byte(strings.Repeat("\xff", 20)), 10, 0},
	} {
		if got := countParts(d, test.data, test.most); got != test.want {
			t.Errorf("%s: countParts: got %d, want %d", test.name, got, test.want)
		}
	}
}

// FuzzCountParts counts the parts of any bytes: never more than most and one.
func FuzzCountParts(f *testing.F) {
	f.Add([]byte("\x0a\x01s\x12\x00"))
	d := (&toolhostv1.CreateSessionRequest{}).ProtoReflect().Descriptor()
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 4
		if got := countParts(d, data, most); got < 0 || got > most+1 {
			t.Errorf("countParts: got %d, want 0 to %d", got, most+1)
		}
	})
}
