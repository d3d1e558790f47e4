package python

// Exception is an exception that Python would raise.
type Exception struct {
	Type string // with its module unless builtin, e.g. TypeError
	Text string // str() of the exception
}

// Error returns the last line of the traceback: the type, and the text if there is one.
func (e *Exception) Error() string {
	if e.Text == "" {
		return e.Type
	}
	return e.Type + ": " + e.Text
}

func typeError(text string) error { return &Exception{Type: "TypeError", Text: text} }
