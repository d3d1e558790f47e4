package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const memberStream = "MEMBER"

func memberSubject(service string) string { return "member." + service }

// Member is this process's place among the live processes of a service, until Leave. All read the
// same membership, whose epoch grows with each change. A member adds and removes itself. It removes
// another one only after it has not heard that one's heartbeats for a lease, by its own monotonic
// clock and while it hears itself.
type Member struct {
	members          Members
	service, address string
	replicas         *Replicas
	cancel           context.CancelFunc
	renewals         sync.WaitGroup

	epoch int64 // the highest one seen
	// heard are the others that have been heard. silent is since when others have not been. Both are
	// empty while this process does not hear itself.
	heard  map[string]bool
	silent map[string]time.Time
}

// Membership returns the live processes of a service. It is the zero value before the first one.
func (b Members) Membership(ctx context.Context, service string) (*busv1.Membership, error) {
	membership, _, err := b.membership(ctx, service)
	if err != nil {
		return nil, fmt.Errorf("read members of %s: %w", service, err)
	}
	return membership, nil
}

func (b Members) membership(ctx context.Context, service string) (membership *busv1.Membership, revision uint64, err error) {
	msg, revision, err := b.newestSealed(ctx, memberStream, memberSubject(service))
	if errors.Is(err, ErrNotFound) {
		return &busv1.Membership{}, revision, nil
	}
	if err != nil {
		return nil, 0, err
	}
	membership, err = decode[busv1.Membership](msg.Subject, msg.Data)
	return membership, revision, err
}

// WatchMembership calls handle with the current membership of a service, if it ever had members,
// and after each change, until ctx is done (then it returns nil). It skips foreign messages. handle
// must not change the membership.
func (b Members) WatchMembership(ctx context.Context, service string, handle func(*busv1.Membership)) error {
	return b.followFrom(ctx, memberStream, memberSubject(service), jetstream.DeliverLastPerSubjectPolicy, func(msg jetstream.Msg) error {
		data := decompressedData(msg.Headers(), msg.Data())
		membership, err := decode[busv1.Membership](msg.Subject(), data)
		if err != nil || checkSeal(msg.Headers(), msg.Subject(), 0, data) != nil {
			if membership, _, err = b.membership(ctx, service); err != nil {
				return err
			}
		}
		handle(membership)
		return nil
	})
}

// JoinMembership makes this process a member of a service at the address that it announces, until
// Leave. A process that takes over the address of one that has died takes over its place.
func (b Members) JoinMembership(ctx context.Context, service, address string) (*Member, error) {
	replicas, err := b.Join(service, address)
	if err != nil {
		return nil, err
	}
	m := &Member{members: b, service: service, address: address, replicas: replicas, heard: make(map[string]bool), silent: make(map[string]time.Time)}
	if err := m.update(ctx, m.withSelf); err != nil {
		return nil, errors.Join(fmt.Errorf("join members of %s: %w", service, err), replicas.Leave())
	}
	renewing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	m.renewals.Go(func() { m.renew(renewing) })
	return m, nil
}

// Leave removes this process from the membership. If it fails, the others remove it after a lease.
func (m *Member) Leave(ctx context.Context) error {
	m.cancel()
	m.renewals.Wait()
	err := m.update(ctx, func(addresses []string) []string { return without(addresses, m.address) })
	if err = errors.Join(err, m.replicas.Leave()); err != nil {
		return fmt.Errorf("leave members of %s: %w", m.service, err)
	}
	return nil
}

func (m *Member) withSelf(addresses []string) []string {
	if slices.Contains(addresses, m.address) {
		return addresses
	}
	return append(slices.Clip(addresses), m.address)
}

func without(addresses []string, gone ...string) []string {
	return slices.DeleteFunc(slices.Clone(addresses), func(address string) bool { return slices.Contains(gone, address) })
}

// renew keeps this process in the membership and removes dead members from it.
func (m *Member) renew(ctx context.Context) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = m.renewOnce(ctx, time.Now()) // NATS may be away; the next time counts
		}
	}
}

func (m *Member) renewOnce(ctx context.Context, now time.Time) error {
	if !m.replicas.Settled() {
		clear(m.heard)
		clear(m.silent)
		return nil
	}
	return m.update(ctx, func(addresses []string) []string { return m.withSelf(without(addresses, m.dead(addresses, now)...)) })
}

// dead returns the members that have been silent for a lease.
func (m *Member) dead(addresses []string, now time.Time) []string {
	isGone := func(address string) bool { return !slices.Contains(addresses, address) }
	maps.DeleteFunc(m.heard, func(address string, _ bool) bool { return isGone(address) })
	maps.DeleteFunc(m.silent, func(address string, _ time.Time) bool { return isGone(address) })
	var dead []string
	for _, address := range addresses {
		since, waits := m.silent[address]
		switch {
		case address == m.address:
		case m.replicas.Alive(address):
			m.heard[address] = true
			delete(m.silent, address)
		case m.heard[address], waits && now.Sub(since) >= lease: // one that was heard has been silent for a lease
			dead = append(dead, address)
		case !waits:
			m.silent[address] = now
		}
	}
	return dead
}

// update changes the addresses with optimistic concurrency. change is called again after a
// conflict. It may return its argument, and must not change it.
func (m *Member) update(ctx context.Context, change func(addresses []string) []string) error {
	for {
		current, revision, err := m.members.membership(ctx, m.service)
		if err != nil {
			return err
		}
		m.epoch = max(m.epoch, current.GetEpoch())
		addresses := slices.Sorted(slices.Values(change(current.GetAddresses())))
		if slices.Equal(addresses, current.GetAddresses()) {
			return nil
		}
		raw, err := proto.Marshal(&busv1.Membership{Epoch: m.epoch + 1, Addresses: addresses})
		if err != nil {
			return err
		}
		if err := m.members.replace(ctx, memberStream, memberSubject(m.service), raw, revision); !errors.Is(err, ErrExists) {
			return err
		}
	}
}
