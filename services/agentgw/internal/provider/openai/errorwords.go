package openai

import (
	"net/http"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// errorWords are those of OpenAI and of compatible servers.
var errorWords = provider.ErrorWords{
	Statuses: map[string]int{
		"context_length_exceeded":    http.StatusBadRequest,
		"content_filter":             http.StatusBadRequest, // Azure and Moonshot
		"content_policy_violation":   http.StatusBadRequest,
		"invalid_api_key":            http.StatusUnauthorized,
		"insufficient_quota":         http.StatusPaymentRequired,
		"billing_hard_limit_reached": http.StatusPaymentRequired,
		"billing_not_active":         http.StatusPaymentRequired,
		"model_not_found":            http.StatusNotFound,
		"rate_limit_exceeded":        http.StatusTooManyRequests,
		"server_error":               http.StatusInternalServerError,
		// Failed responses about the request.
		"invalid_prompt":                 http.StatusBadRequest,
		"data_residency_mismatch":        http.StatusBadRequest,
		"bio_policy":                     http.StatusBadRequest,
		"misalignment_policy_violation":  http.StatusBadRequest,
		"invalid_image":                  http.StatusBadRequest,
		"invalid_image_format":           http.StatusBadRequest,
		"invalid_base64_image":           http.StatusBadRequest,
		"invalid_image_url":              http.StatusBadRequest,
		"invalid_image_mode":             http.StatusBadRequest,
		"image_too_large":                http.StatusBadRequest,
		"image_too_small":                http.StatusBadRequest,
		"image_parse_error":              http.StatusBadRequest,
		"image_content_policy_violation": http.StatusBadRequest,
		"image_file_too_large":           http.StatusBadRequest,
		"unsupported_image_media_type":   http.StatusBadRequest,
		"empty_image_file":               http.StatusBadRequest,
		"image_file_not_found":           http.StatusBadRequest,
		// Moonshot.
		"invalid_authentication_error": http.StatusUnauthorized,
		"exceeded_current_quota_error": http.StatusPaymentRequired,
		"permission_denied_error":      http.StatusForbidden,
		"resource_not_found_error":     http.StatusNotFound,
		"rate_limit_reached_error":     http.StatusTooManyRequests,
		"engine_overloaded_error":      provider.StatusOverloaded,
		// Zhipu, Alibaba and Volcengine.
		"1113":                http.StatusPaymentRequired,
		"Arrearage":           http.StatusPaymentRequired,
		"AccountOverdueError": http.StatusPaymentRequired,
		// one-api and its forks.
		"insufficient_user_quota":        http.StatusPaymentRequired,
		"pre_consume_token_quota_failed": http.StatusPaymentRequired,
		"insufficient_balance":           http.StatusPaymentRequired,
		"insufficient_credits":           http.StatusPaymentRequired,
	},
	// xAI has no code.
	NoCredit: []string{"used all available credits or reached its monthly spending limit"},
}
