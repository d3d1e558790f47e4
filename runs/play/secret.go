package play

import (
	"os"
	"slices"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/secretkey"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"
)

// AttachTokenVariable is the environment variable with the token of attached agents. The variable
// of --attach-token-file names a file with it.
const AttachTokenVariable = "TOOLSANDBOX_ATTACH_TOKEN"

func (o *Options) registerToken(flags *pflag.FlagSet) {
	flags.StringVar(&o.tokenFile, "attach-token-file", "", "`file` with the token that attached agents have to show; else "+AttachTokenVariable+" is the token, or "+AttachTokenVariable+"_FILE names its file")
}

// setSecrets gives attached players the secret that the environment or --attach-token-file holds,
// if there is one.
func (o *Options) setSecrets(players ...*agentgwv1.Player) error {
	if !slices.ContainsFunc(players, isAttached) {
		return nil
	}
	token, err := o.attachToken()
	if err != nil {
		return process.UsageErrorf("secret of attached agents: %w", err)
	}
	for _, p := range players {
		if token == "" {
			break
		}
		if err := player.SetSecret(p, token); err != nil {
			return process.UsageErrorf("secret of %s: %w", p.GetName(), err)
		}
	}
	return nil
}

// attachToken returns the token of attached agents, empty without one.
func (o *Options) attachToken() (string, error) {
	if o.tokenFile != "" {
		return secretkey.File("--attach-token-file", o.tokenFile) // the caller says whose secret
	}
	return secretkey.Lookup(os.Getenv, AttachTokenVariable) // the caller says whose secret
}

// isAttached reports whether a player is an agent that attaches itself.
func isAttached(p *agentgwv1.Player) bool {
	return p.GetPlugin().GetAttached() != "" && !player.AtTerminal(p)
}

// withoutSecrets returns players without the digests of secrets, of which no file of a run has use.
func withoutSecrets(players []*agentgwv1.Player) []*agentgwv1.Player {
	players = slices.Clone(players)
	for i, p := range players {
		if p.GetPlugin().GetSecretDigest() != "" {
			players[i] = proto.CloneOf(p)
			players[i].GetPlugin().SecretDigest = ""
		}
	}
	return players
}
