package player

import (
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
)

func TestSetSampling(t *testing.T) {
	for _, test := range []struct {
		name string
		stop []string
		seed *int64
		want string // of the error
	}{
		{"oracle", nil, nil, ""},
		{"openai:m", []string{"\n", "<|im_end|>"}, proto.Int64(0), ""},
		{"hermes", []string{"</s>"}, proto.Int64(2147483647), ""},
		{"anthropic:m", []string{"END"}, nil, ""},
		{"google:m", []string{"END"}, proto.Int64(1), ""},
		{"oracle", []string{"END"}, nil, `--user-stop: given, but player "oracle" is no model`},
		{"random", nil, proto.Int64(1), `--user-model-seed: given, but player "random" is no model`},
		{"anthropic:m", nil, proto.Int64(1), "--user-model-seed: given, but anthropic takes none; these do: cohere, google, vertex, openai, "},
		{"openai-responses:m", nil, proto.Int64(1), "--user-model-seed: given, but openai-responses takes none"},
		{"openai-responses:m", []string{"END"}, nil, "--user-stop: given, but openai-responses takes none; these do: anthropic, "},
		{"openai:m", []string{""}, nil, "--user-stop: a text of 0 characters given, expected 1 to 200"},
		{"openai:m", slices.Repeat([]string{"a"}, 17), nil, "--user-stop: given 17 times, expected at most 16"},
		{"openai:m", nil, proto.Int64(-1), "--user-model-seed: -1 given, expected 0 to 2147483647"},
		{"openai:m", nil, proto.Int64(1 << 31), "--user-model-seed: 2147483648 given"},
	} {
		p, err := Parse(agent, test.name)
		if err != nil {
			t.Fatal(err)
		}
		err = SetSampling(p, "user-", test.stop, test.seed)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if m := p.GetModel(); m != nil && test.want == "" && (!slices.Equal(m.GetStop(), test.stop) || (m.Seed == nil) != (test.seed == nil) || m.Seed != nil && *m.Seed != *test.seed) {
			t.Errorf("%s: got %v, want them", test.name, p)
		}
		if err := protovalidate.Validate(p); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
