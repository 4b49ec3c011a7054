package socket

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"plimsoll/internal/database"
)

// A relay challenges each connection: it sends a nonce, and the client answers with the nonce's HMAC under the key.
// The relay then connects to the server, and sends how long the reason is why it could not, and the reason: nothing
// for a connection that stands.
const (
	nonceBytes     = 32
	mostReason     = 255
	handshakeLimit = 10 * time.Second
	// mostHandshakes bounds the connections that have not answered yet.
	mostHandshakes = 256
)

// Relay leads connections from other machines to one server.
type Relay struct {
	listener net.Listener
	key      []byte
	dial     func(context.Context) (net.Conn, error)
	stop     context.CancelFunc
	serving  sync.WaitGroup
	waiting  chan struct{} // one for each connection that has not answered yet
}

// NewRelay listens on a port of an address of this host, and leads clients that know the key to what dial reaches.
func NewRelay(ctx context.Context, address string, dial func(context.Context) (net.Conn, error)) (*Relay, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	r := &Relay{listener: l, key: key, dial: dial, waiting: make(chan struct{}, mostHandshakes)}
	ctx, r.stop = context.WithCancel(ctx)
	r.serving.Go(func() { r.accept(ctx) })
	return r, nil
}

// Address returns what clients need to know.
func (r *Relay) Address() database.Relay {
	return database.Relay{Address: r.listener.Addr().String(), Key: database.Secret(hex.EncodeToString(r.key))}
}

// Close ends all connections.
func (r *Relay) Close() error {
	r.stop()
	err := r.listener.Close()
	r.serving.Wait()
	return err
}

func (r *Relay) accept(ctx context.Context) {
	for {
		conn, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if err != nil { // of one connection, or of too many files
			time.Sleep(time.Millisecond)
			continue
		}
		select {
		case r.waiting <- struct{}{}:
			r.serving.Go(func() { r.serve(ctx, conn) })
		default:
			_ = conn.Close()
		}
	}
}

// serve leads one client to the server.
func (r *Relay) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	undo := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer undo()
	server, err := r.welcome(ctx, client)
	<-r.waiting
	if err != nil {
		return
	}
	defer server.Close()
	ended := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer ended()
	var up sync.WaitGroup
	up.Go(func() { pass(server, client) })
	pass(client, server)
	up.Wait()
}

// welcome challenges a client and connects to the server.
func (r *Relay) welcome(ctx context.Context, client net.Conn) (server net.Conn, err error) {
	_ = client.SetDeadline(time.Now().Add(handshakeLimit))
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // never fails
	if _, err := client.Write(nonce); err != nil {
		return nil, err
	}
	answer := make([]byte, sha256.Size)
	if _, err := io.ReadFull(client, answer); err != nil {
		return nil, err
	}
	if !hmac.Equal(answer, answerTo(nonce, r.key)) {
		return nil, errors.New("the client does not know the key")
	}
	limited, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	server, err = r.dial(limited)
	if err != nil {
		reason := err.Error()
		reason = reason[:min(len(reason), mostReason)]
		_, _ = client.Write(append([]byte{byte(len(reason))}, reason...))
		return nil, err
	}
	if _, err := client.Write([]byte{0}); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, client.SetDeadline(time.Time{})
}

// pass copies all that comes from a connection to another. The kernel moves the bytes.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err == nil && ok && half.CloseWrite() == nil {
		return
	}
	_, _ = to.Close(), from.Close()
}

func answerTo(nonce, key []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(nonce)
	return mac.Sum(nil)
}

// dialRelay connects to the server behind a relay.
func dialRelay(ctx context.Context, relay database.Relay) (_ net.Conn, failed error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", relay.Address)
	if err != nil {
		return nil, fmt.Errorf("reach the servers' host: %w", err)
	}
	defer func() {
		if failed != nil {
			_ = conn.Close()
		}
	}()
	undo := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer undo()
	key, err := hex.DecodeString(string(relay.Key))
	if err != nil {
		return nil, errors.New("the key of the relay is damaged")
	}
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(conn, nonce); err != nil {
		return nil, fmt.Errorf("the relay on the servers' host: %w", err)
	}
	if _, err := conn.Write(answerTo(nonce, key)); err != nil {
		return nil, fmt.Errorf("the relay on the servers' host: %w", err)
	}
	reason := make([]byte, 1)
	if _, err := io.ReadFull(conn, reason); err != nil {
		return nil, fmt.Errorf("the relay on the servers' host takes no connection: %w", err)
	}
	if reason[0] == 0 {
		if !undo() {
			return nil, context.Cause(ctx)
		}
		return conn, nil
	}
	reason = make([]byte, reason[0])
	if _, err := io.ReadFull(conn, reason); err != nil {
		return nil, fmt.Errorf("the relay on the servers' host: %w", err)
	}
	return nil, errors.New(string(reason))
}
