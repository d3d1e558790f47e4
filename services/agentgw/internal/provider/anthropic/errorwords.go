package anthropic

import (
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// errorWords are those of Anthropic. Its documentation lists the types.
var errorWords = provider.ErrorWords{
	Statuses: map[string]int{
		"invalid_request_error": http.StatusBadRequest,
		"authentication_error":  http.StatusUnauthorized,
		"billing_error":         http.StatusPaymentRequired,
		"permission_error":      http.StatusForbidden,
		"not_found_error":       http.StatusNotFound,
		"request_too_large":     http.StatusRequestEntityTooLarge,
		"rate_limit_error":      http.StatusTooManyRequests,
		"api_error":             http.StatusInternalServerError,
		"timeout_error":         http.StatusGatewayTimeout,
		"overloaded_error":      provider.StatusOverloaded,
	},
	// Its type, invalid_request_error, also stands for other mistakes.
	NoCredit: []string{"credit balance is too low"},
}
