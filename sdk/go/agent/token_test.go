package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// TestAttachToken attaches with tokens from each source to a gateway that refuses them.
func TestAttachToken(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file, empty := write("token", "of-the-file\n"), write("empty", "\n")
	for name, test := range map[string]struct {
		variable, file string
		options        []grpc.DialOption
		sent           []string
		reason         string
	}{
		"none":           {},
		"file":           {file: file, sent: []string{"Bearer of-the-file"}},
		"variable":       {variable: "of-the-variable", file: file, sent: []string{"Bearer of-the-variable"}},
		"option":         {variable: "of-the-variable", options: []grpc.DialOption{agent.Token("given")}, sent: []string{"Bearer given"}},
		"empty option":   {variable: "of-the-variable", options: []grpc.DialOption{agent.Token("")}, reason: "attach secret: Token: it is empty"},
		"blank":          {options: []grpc.DialOption{agent.Token("two words")}, reason: "attach secret: Token: expected printable ASCII without blanks, but character 4 is another one"},
		"no ASCII":       {variable: "geheïm", reason: "attach secret: TOOLSANDBOX_ATTACH_TOKEN: expected printable ASCII without blanks, but character 5 is another one"},
		"empty file":     {file: empty, reason: "attach secret: TOOLSANDBOX_ATTACH_TOKEN_FILE: " + empty + " is empty"},
		"missing file":   {file: filepath.Join(dir, "no"), reason: "attach secret: TOOLSANDBOX_ATTACH_TOKEN_FILE: open "},
		"blank variable": {variable: " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TOOLSANDBOX_ATTACH_TOKEN", test.variable)
			t.Setenv("TOOLSANDBOX_ATTACH_TOKEN_FILE", test.file)
			if test.reason != "" {
				err := agent.Attach(t.Context(), "localhost:1", "secret", agent.Func(echo), test.options...)
				if err == nil || !strings.HasPrefix(err.Error(), test.reason) {
					t.Errorf("got %v, want %q", err, test.reason)
				}
				return
			}
			g, dialer := serveGateway(t)
			options := append([]grpc.DialOption{dialer, grpc.WithTransportCredentials(insecure.NewCredentials())}, test.options...)
			err := agent.Attach(t.Context(), "passthrough:///gateway", "secret", agent.Func(echo), options...)
			if status.Code(err) != codes.PermissionDenied {
				t.Errorf("got %v, want PERMISSION_DENIED", err)
			}
			if diff := cmp.Diff([][]string{test.sent}, g.tokens); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}
