package httpclient

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

const (
	// maxPreview and maxPreviewRunes bound the part of an undecodable answer that an error shows.
	maxPreview      = 1 << 10
	maxPreviewRunes = 100

	maxStatus = 599
)

// DecodeFailure returns the failure of a body that came with a status of success and that err says
// is no answer. If the body contains an error, the failure equals that of the same error with the
// status that it implies. A page of HTML comes again. Otherwise it is retryable. The body came from
// an endpoint.
func DecodeFailure(body []byte, err error, from provider.Endpoint) *provider.Failure {
	parsed := parseAPIError(lenient.ErrorBody(body), from.Errors)
	if !parsed.structured && bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return &provider.Failure{Detail: "a page of HTML or XML instead of an answer: is the base URL that of the model's interface?" + preview(body, from.Secret)}
	}
	if !parsed.structured {
		return &provider.Failure{Retryable: true, Detail: excerpt(err.Error(), from.Secret) + preview(body, from.Secret)}
	}
	status := parsed.status()
	failure := parsed.failure(status, from.Secret)
	if status == 0 {
		failure.Retryable = !failure.NoCredit && !failure.ContextOverflow && failure.Refusal == ""
		failure.Detail = "the answer is an error: " + failure.Detail
	}
	return failure
}

// preview returns the beginning of a body on one line. It redacts the key before it truncates.
func preview(body []byte, secret string) string {
	body = Redact(body, secret)
	truncated := len(body) > maxPreview
	runes := []rune(strings.Join(strings.Fields(string(body[:min(len(body), maxPreview)])), " "))
	if len(runes) == 0 {
		return ": it is empty"
	}
	end := ""
	if truncated || len(runes) > maxPreviewRunes {
		end = "…"
	}
	return fmt.Sprintf(": %q%s", string(runes[:min(len(runes), maxPreviewRunes)]), end)
}
