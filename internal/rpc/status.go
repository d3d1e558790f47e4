package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrorCodes are the gRPC codes of a service's sentinel errors. The first that an error wraps
// counts.
type ErrorCodes []ErrorCode

// ErrorCode is the gRPC code of a sentinel error.
type ErrorCode struct {
	Err  error
	Code codes.Code
}

// Code returns the code of an error. An error without a code in the table keeps that of the status
// or of the context error that it wraps; any other is INTERNAL.
func (c ErrorCodes) Code(err error) codes.Code {
	for _, row := range c {
		if errors.Is(err, row.Err) {
			return row.Code
		}
	}
	if st, ok := status.FromError(err); ok {
		return st.Code()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	default:
		return codes.Internal
	}
}

// Status returns an error as a gRPC status, and nil as nil. A wrapped status keeps its details.
func (c ErrorCodes) Status(err error) error {
	st, ok := status.FromError(err)
	if code := c.Code(err); !ok || st.Code() != code {
		st = status.New(code, err.Error())
	}
	return st.Err()
}
