// Package proxy names the proxy that the environment puts before an address.
package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Named returns what an error about an address adds if a proxy stands before it, without the
// password that the proxy's address may hold; "" if none does.
func Named(address *url.URL) string {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: address})
	if err != nil || proxy == nil {
		return ""
	}
	return fmt.Sprintf(", by the proxy %s that %s_PROXY names", proxy.Redacted(), strings.ToUpper(address.Scheme))
}
