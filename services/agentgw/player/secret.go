package player

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// Bounds of a token in characters. Nobody guesses one of the least length from its digest, if it is
// drawn at random.
const minToken, maxToken = 16, 512

// SecretDigest returns the digest of a token for an attached agent's name, which runs and the
// gateway use instead of the token. Names with the same token have different digests. The error
// does not repeat the token.
func SecretDigest(name, token string) (string, error) {
	if n := len(token); n < minToken || n > maxToken {
		return "", fmt.Errorf("token of %d characters, expected %d to %d: draw one, e.g. with openssl rand -hex 32", n, minToken, maxToken)
	}
	if at := strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }); at >= 0 {
		return "", fmt.Errorf("token: expected printable ASCII without blanks, but its character %d is another one", at+1)
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("toolsandbox attached agent " + name))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// SetSecret lets only processes with the token play a player, if it is an attached agent.
func SetSecret(p *agentgwv1.Player, token string) error {
	plugin := p.GetPlugin()
	if plugin.GetAttached() == "" || AtTerminal(p) {
		return nil
	}
	digest, err := SecretDigest(plugin.GetAttached(), token)
	if err != nil {
		return err
	}
	plugin.SecretDigest = digest
	return nil
}
