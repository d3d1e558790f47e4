// Package proxy describes the environment's proxy for error messages.
package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Named returns the part of an error message that names the proxy between this process and an
// address, "" if there is none. It redacts the proxy's password.
func Named(address *url.URL) string {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: address})
	if err != nil || proxy == nil {
		return ""
	}
	return fmt.Sprintf(", by the proxy %s that %s_PROXY names", proxy.Redacted(), strings.ToUpper(address.Scheme))
}
