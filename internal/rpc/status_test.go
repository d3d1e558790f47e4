package rpc

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestErrorCodes(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	table := ErrorCodes{{Err: first, Code: codes.NotFound}, {Err: second, Code: codes.DataLoss}}
	detailed, err := status.New(codes.Aborted, "later").WithDetails(wrapperspb.String("a detail"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err     error
		code    codes.Code
		message string
		details int
	}{
		"none":                   {nil, codes.OK, "", 0},
		"sentinel":               {fmt.Errorf("read x: %w", second), codes.DataLoss, "read x: second", 0},
		"two sentinels":          {errors.Join(second, first), codes.NotFound, "second\nfirst", 0},
		"wrapped status":         {fmt.Errorf("ask: %w", detailed.Err()), codes.Aborted, "ask: rpc error: code = Aborted desc = later", 1},
		"sentinel around status": {fmt.Errorf("%w: %w", first, detailed.Err()), codes.NotFound, "first: rpc error: code = Aborted desc = later", 0},
		"deadline":               {fmt.Errorf("ask: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "ask: context deadline exceeded", 0},
		"cancelled":              {context.Canceled, codes.Canceled, "context canceled", 0},
		"other":                  {errors.New("surprise"), codes.Internal, "surprise", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.Convert(table.Status(test.err))
			if got.Code() != test.code || got.Message() != test.message || len(got.Details()) != test.details {
				t.Errorf("got %v %q with %d details, want %v %q with %d", got.Code(), got.Message(), len(got.Details()), test.code, test.message, test.details)
			}
		})
	}
}
