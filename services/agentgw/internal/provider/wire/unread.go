package wire

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

const (
	// maxGlimpse and maxGlimpseRunes bound what an error shows of an answer that cannot be read.
	maxGlimpse      = 1 << 10
	maxGlimpseRunes = 100

	maxStatus        = 599
	statusOverloaded = 529 // Anthropic's
)

// Unread returns why a body that came with a status of success is of no use; err says that it is no
// answer. If it holds an error, the failure is that of the same error with the status that it
// names. Without one it may be tried again.
func Unread(body []byte, err error, secret string) *provider.Failure {
	said := readComplaint(body)
	if !said.stated {
		return &provider.Failure{Retryable: true, Detail: excerpt(err.Error(), secret) + glimpse(body, secret)}
	}
	status := said.status()
	failure := said.failure(status, secret)
	if status == 0 {
		failure.Retryable = !failure.Unpaid
		failure.Detail = "the answer is an error: " + failure.Detail
	}
	return failure
}

// meaning returns the HTTP status that a code or a type of an error stands for, 0 if it is not
// known. The words are those of Anthropic, OpenAI and Moonshot.
func meaning(word string) int {
	switch word {
	case "invalid_request_error", "context_length_exceeded",
		// Responses that failed for what they were asked.
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

// glimpse shows how a body begins, on one line. The key goes before anything is cut.
func glimpse(body []byte, secret string) string {
	body = Hide(body, secret)
	cut := len(body) > maxGlimpse
	shown := []rune(strings.Join(strings.Fields(string(body[:min(len(body), maxGlimpse)])), " "))
	if len(shown) == 0 {
		return ": it is empty"
	}
	end := ""
	if cut || len(shown) > maxGlimpseRunes {
		end = "…"
	}
	return fmt.Sprintf(": %q%s", string(shown[:min(len(shown), maxGlimpseRunes)]), end)
}
