package httpclient

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	// maxPreview and maxPreviewRunes bound the part of an undecodable answer that an error shows.
	maxPreview      = 1 << 10
	maxPreviewRunes = 100

	maxStatus        = 599
	statusOverloaded = 529 // Anthropic's
)

// DecodeFailure returns the failure of a body that came with a status of success and that err says
// is no answer. If the body contains an error, the failure equals that of the same error with the
// status that it implies. Otherwise it is retryable.
func DecodeFailure(body []byte, err error, secret string) *provider.Failure {
	parsed := parseAPIError(body)
	if !parsed.structured {
		return &provider.Failure{Retryable: true, Detail: excerpt(err.Error(), secret) + preview(body, secret)}
	}
	status := parsed.status()
	failure := parsed.failure(status, secret)
	if status == 0 {
		failure.Retryable = !failure.NoCredit
		failure.Detail = "the answer is an error: " + failure.Detail
	}
	return failure
}

// statusOf returns the HTTP status of an error code or type, 0 if it is unknown. The words are
// those of Anthropic, OpenAI and Moonshot.
func statusOf(word string) int {
	switch word {
	case "invalid_request_error", "context_length_exceeded",
		// Failed responses of OpenAI about the request.
		"invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation", "invalid_image", "invalid_image_format",
		"invalid_base64_image", "invalid_image_url", "invalid_image_mode", "image_too_large", "image_too_small", "image_parse_error",
		"image_content_policy_violation", "image_file_too_large", "unsupported_image_media_type", "empty_image_file", "image_file_not_found":
		return http.StatusBadRequest
	case "authentication_error", "invalid_authentication_error", "invalid_api_key":
		return http.StatusUnauthorized
	case "permission_error", "permission_denied_error":
		return http.StatusForbidden
	case "not_found_error", "resource_not_found_error", "model_not_found":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error", "rate_limit_exceeded", "rate_limit_reached_error":
		return http.StatusTooManyRequests
	case "api_error", "server_error":
		return http.StatusInternalServerError
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error", "engine_overloaded_error":
		return statusOverloaded
	}
	return 0
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
