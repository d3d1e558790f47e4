package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// Digest returns the lower-case hex SHA-256 of the deterministic wire form of a document, and that
// form.
func Digest(document proto.Message) (digest string, raw []byte, err error) {
	raw, err = proto.MarshalOptions{Deterministic: true}.Marshal(document)
	if err != nil {
		return "", nil, fmt.Errorf("digest of %s: %w", document.ProtoReflect().Descriptor().Name(), err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), raw, nil
}

// PutSetup stores a setup under its digest. It is idempotent. The caller
// must not change the setup afterwards.
func (b Setups) PutSetup(ctx context.Context, setup *setupv1.Setup) (string, error) {
	digest, raw, err := Digest(setup)
	if err != nil {
		return "", err
	}
	if err := b.putDocument(ctx, setupStream, setupSubject(digest), raw); err != nil {
		return "", fmt.Errorf("store setup %s: %w", setup.GetName(), err)
	}
	b.setups.Add(digest, setup)
	return digest, nil
}

// Setup returns a stored setup. The error is ErrNotFound if there is none. It is shared, so callers
// must not change it.
func (b Setups) Setup(ctx context.Context, digest string) (*setupv1.Setup, error) {
	if setup, ok := b.setups.Get(digest); ok {
		return setup, nil
	}
	setup := &setupv1.Setup{}
	if err := b.document(ctx, setupStream, setupSubject(digest), digest, setup); err != nil {
		return nil, fmt.Errorf("read setup: %w", err)
	}
	b.setups.Add(digest, setup)
	return setup, nil
}

// PutTools stores a list of tools under its digest. It is idempotent.
func (b ToolSets) PutTools(ctx context.Context, tools *agentgwv1.ToolSet) (string, error) {
	digest, raw, err := Digest(tools)
	if err != nil {
		return "", err
	}
	if err := b.putDocument(ctx, setupStream, toolsSubject(digest), raw); err != nil {
		return "", fmt.Errorf("store tools: %w", err)
	}
	return digest, nil
}

// Tools returns a stored list of tools. The error is ErrNotFound if there is none.
func (b ToolSets) Tools(ctx context.Context, digest string) (*agentgwv1.ToolSet, error) {
	tools := &agentgwv1.ToolSet{}
	if err := b.document(ctx, setupStream, toolsSubject(digest), digest, tools); err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	return tools, nil
}

// PutEvaluation stores an evaluation under its digest. It is idempotent.
// The caller must not change the evaluation afterwards. Only the evaluator calls PutEvaluation and
// Evaluation.
func (b Evaluations) PutEvaluation(ctx context.Context, evaluation *evaluationv1.Evaluation) (string, error) {
	digest, raw, err := Digest(evaluation)
	if err != nil {
		return "", err
	}
	if err := b.documents.putDocument(ctx, evaluationStream, evaluationSubject(digest), raw); err != nil {
		return "", fmt.Errorf("store evaluation: %w", err)
	}
	b.cache.Add(digest, evaluation)
	return digest, nil
}

// Evaluation returns a stored evaluation. The error is ErrNotFound if there is none. It is shared,
// so callers must not change it.
func (b Evaluations) Evaluation(ctx context.Context, digest string) (*evaluationv1.Evaluation, error) {
	if evaluation, ok := b.cache.Get(digest); ok {
		return evaluation, nil
	}
	evaluation := &evaluationv1.Evaluation{}
	if err := b.documents.document(ctx, evaluationStream, evaluationSubject(digest), digest, evaluation); err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	b.cache.Add(digest, evaluation)
	return evaluation, nil
}

// putDocument stores a document unless it exists. One that is older than half the retention is
// stored again: removeDocuments must not take it from a sweep that is being created.
func (b *store) putDocument(ctx context.Context, stream, subject string, raw []byte) error {
	existing, err := b.create(ctx, stream, subject, raw, nil)
	if err != nil || existing == nil {
		return err
	}
	retention := time.Duration(b.retention.Load())
	if bytes.Equal(existing.Data, raw) && (retention == 0 || time.Since(existing.Time) < retention/2) {
		return nil
	}
	if _, _, err := b.publish(ctx, subject, raw); err != nil {
		return err
	}
	return b.purgeOlder(ctx, stream, subject)
}

// document reads the document of a digest. A document that does not match the digest counts as
// missing. Creating the sweep again stores it.
func (b *store) document(ctx context.Context, stream, subject, digest string, target proto.Message) error {
	msg, err := b.lastMessage(ctx, stream, subject)
	if err != nil {
		return fmt.Errorf("stream %s: %w; toolsandbox run --resume stores it again", stream, err)
	}
	if sum := sha256.Sum256(msg.Data); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("stream %s, sequence %d: %w: %s has other content; toolsandbox run --resume stores it again", stream, msg.Sequence, ErrNotFound, subject)
	}
	if err := proto.Unmarshal(msg.Data, target); err != nil {
		return fmt.Errorf("stream %s, sequence %d: %s: %w", stream, msg.Sequence, subject, err)
	}
	return nil
}
