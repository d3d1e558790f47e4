package rpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// copier copies messages between client and handler. One that is larger than the limit is refused.
type copier struct{ limit int }

// Copy implements inprocgrpc.Cloner.
func (c copier) Copy(to, from any) error {
	target, ok := to.(proto.Message)
	if !ok {
		return noMessage(to)
	}
	source, ok := from.(proto.Message)
	if !ok {
		return noMessage(from)
	}
	if size := proto.Size(source); size > c.limit {
		return status.Errorf(codes.ResourceExhausted, "message has %d bytes, expected at most %d (--max-message-bytes)", size, c.limit)
	}
	proto.Reset(target)
	proto.Merge(target, source)
	return nil
}

// Clone implements inprocgrpc.Cloner.
func (c copier) Clone(from any) (any, error) {
	source, ok := from.(proto.Message)
	if !ok {
		return nil, noMessage(from)
	}
	clone := source.ProtoReflect().New().Interface()
	return clone, c.Copy(clone, source)
}

func noMessage(v any) error { return status.Errorf(codes.Internal, "%T is no message", v) }
