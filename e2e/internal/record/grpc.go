package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// maxMessage is the maximum size of a message in bytes.
const maxMessage = 256 << 20

// GRPC starts a proxy for an address. It records every call's name, metadata, messages, trailer and
// status.
func (r *Recorder) GRPC(wire, target string) (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("record %s: %w", wire, err)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return "", errors.Join(fmt.Errorf("record %s: %w", wire, err), listener.Close())
	}
	p := &grpcProxy{recorder: r, wire: wire, conn: conn}
	server := grpc.NewServer(grpc.UnknownServiceHandler(p.handle), grpc.ForceServerCodecV2(rawCodec{}), grpc.WaitForHandlers(true),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	r.onClose(func() error {
		server.Stop()
		return errors.Join(<-served, conn.Close())
	})
	return listener.Addr().String(), nil
}

type grpcProxy struct {
	recorder *Recorder
	wire     string
	conn     *grpc.ClientConn
}

// handle forwards one call.
func (p *grpcProxy) handle(_ any, caller grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(caller)
	received, _ := metadata.FromIncomingContext(caller.Context())
	p.recorder.Add(p.wire, []byte(method))
	p.metadata(received)
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(caller.Context(), received))
	defer cancel()
	callee, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return p.status(err)
	}
	// The goroutine ends with the caller's stream, at the latest when this call ends.
	go func() {
		if err := p.copy(callee.SendMsg, caller.RecvMsg); !errors.Is(err, io.EOF) {
			cancel()
			return
		}
		_ = callee.CloseSend() // never fails
	}()
	if header, err := callee.Header(); err == nil {
		p.metadata(header)
		if err := caller.SetHeader(header); err != nil {
			return err
		}
	}
	err = p.copy(caller.SendMsg, callee.RecvMsg)
	p.metadata(callee.Trailer())
	caller.SetTrailer(callee.Trailer())
	if errors.Is(err, io.EOF) {
		return nil
	}
	return p.status(err)
}

// copy forwards messages until the stream ends.
func (p *grpcProxy) copy(send, receive func(any) error) error {
	for {
		var message frame
		if err := receive(&message); err != nil {
			return err
		}
		p.recorder.Add(p.wire, message)
		message = append(message, p.recorder.appended...)
		if err := send(&message); err != nil {
			return err
		}
	}
}

func (p *grpcProxy) metadata(md metadata.MD) {
	for key, values := range md {
		p.recorder.Add(p.wire, []byte(key+": "+strings.Join(values, ", ")))
	}
}

// status records an error with its details.
func (p *grpcProxy) status(err error) error {
	found := status.Convert(err)
	encoded, marshalErr := proto.Marshal(found.Proto())
	if marshalErr != nil {
		return status.Error(codes.Internal, marshalErr.Error())
	}
	p.recorder.Add(p.wire, encoded)
	return found.Err()
}

// frame is an encoded message.
type frame []byte

// rawCodec is a codec that does not change messages.
type rawCodec struct{}

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(message any) (mem.BufferSlice, error) {
	f, ok := message.(*frame)
	if !ok {
		return nil, fmt.Errorf("marshal %T: no frame", message)
	}
	return mem.BufferSlice{mem.SliceBuffer(*f)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, message any) error {
	f, ok := message.(*frame)
	if !ok {
		return fmt.Errorf("unmarshal %T: no frame", message)
	}
	*f = data.Materialize()
	return nil
}
