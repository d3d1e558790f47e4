package wire

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"
)

const (
	// hidden stands where a key was.
	hidden = "[key]"
	// leastSecret is the length of the shortest key that is hidden. Shorter ones are placeholders for local servers, and may be any word.
	leastSecret = 8
)

// Hide takes a key out of a text, in the forms in which a server may say it again: as it is, escaped for JSON or for a URL, and in base64. The text itself is not
// changed.
func Hide(text []byte, secret string) []byte {
	if len(secret) < leastSecret {
		return text
	}
	slashes := strings.ReplaceAll(secret, "/", `\/`)
	for _, form := range []string{
		secret, slashes, strings.ReplaceAll(secret, "=", `\u003d`), strings.ReplaceAll(slashes, "=", `\u003d`),
		url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
	} {
		if bytes.Contains(text, []byte(form)) {
			text = bytes.ReplaceAll(text, []byte(form), []byte(hidden))
		}
	}
	return text
}
