package rpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	rpcv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/rpc/v1"
)

// copier copies messages between client and handler. It rejects messages larger than limit bytes.
type copier struct{ limit int }

// Clone returns a copy of a message, the message itself if it is shared.
func (c copier) Clone(from any, shared bool) (proto.Message, error) {
	source, ok := from.(proto.Message)
	if !ok {
		return nil, status.Errorf(codes.Internal, "%T is no message", from)
	}
	if shared {
		return source, c.check(source, true)
	}
	clone := source.ProtoReflect().New().Interface()
	return clone, c.Copy(clone, source, false)
}

// Copy sets a message to another one of its type. If it is shared, both have the same lists, bytes
// and nested messages.
func (c copier) Copy(to any, from proto.Message, shared bool) error {
	target, ok := to.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is no message", to)
	}
	if err := c.check(from, shared); err != nil {
		return err
	}
	proto.Reset(target)
	if !shared {
		proto.Merge(target, from)
		return nil
	}
	fields, source := target.ProtoReflect(), from.ProtoReflect()
	source.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		fields.Set(field, value)
		return true
	})
	fields.SetUnknown(source.GetUnknown())
	return nil
}

// check rejects a large message. Parts of a shared one are as they were when they were measured, so
// the sizes that they remember count.
func (c copier) check(m proto.Message, shared bool) error {
	return checkSize(m, proto.MarshalOptions{UseCachedSize: shared}.Size(m), c.limit)
}

// immutable reports whether the request and the response of a method are immutable.
func immutable(service, method string) (request, response bool) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if of, ok := found.(protoreflect.MethodDescriptor); ok && err == nil {
		return isImmutable(of.Input()), isImmutable(of.Output())
	}
	return false, false
}

func isImmutable(of protoreflect.MessageDescriptor) bool {
	marked, _ := proto.GetExtension(of.Options(), rpcv1.E_Immutable).(bool)
	return marked
}
