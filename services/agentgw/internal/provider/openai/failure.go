package openai

// serverError returns the failure that the server reports, nil if it reports none. With compat the
// finish reason does not count.
func (c *completion) serverError(compat bool) error {
	first := choice{}
	if c.Choices != nil && len(*c.Choices) > 0 {
		first = (*c.Choices)[0]
	}
	if compat {
		return ServerError(c.Error, first.Error, nil)
	}
	return ServerError(c.Error, first.Error, first.FinishReason)
}

// withReason appends the finish reason to a message about a missing part.
func (c *choice) withReason(missing string) string {
	if reason := FinishReason(c.FinishReason); reason != "" {
		return missing + ": " + reason
	}
	return missing
}
