package client

import (
	"context"
	"net"
	"sync"

	"plimsoll/internal/database"
	"plimsoll/internal/database/socket"
)

// reach dials one server, whatever address the driver passes.
type reach struct{ server database.Address }

// DialContext implements the dialers of drivers.
func (r reach) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return socket.Dial(ctx, r.server)
}

// session has a driver's connections to one server, which many clients share. A process has one session for each
// server.
type session[S any] struct {
	driver S
	server database.Address
	users  int  // clients that have not been closed
	ended  bool // no client gets it any more
	pool   *sessions[S]
}

// sessions has this process's sessions with one driver, by server.
type sessions[S any] struct {
	sync.Mutex
	byServer map[database.Address]*session[S]
	close    func(S)
}

// take returns the session for a server, opened for its first client.
func (pool *sessions[S]) take(
	ctx context.Context, server database.Address, open func(context.Context, database.Address) (S, error),
) (*session[S], error) {
	pool.Lock()
	defer pool.Unlock()
	s := pool.byServer[server]
	if s == nil {
		driver, err := open(ctx, server)
		if err != nil {
			return nil, err
		}
		s = &session[S]{driver: driver, server: server, pool: pool}
		if pool.byServer == nil {
			pool.byServer = map[database.Address]*session[S]{}
		}
		pool.byServer[server] = s
	}
	s.users++
	return s, nil
}

// release gives a session back; the last client of it closes it. Of one that broke nobody else gets a share.
func (s *session[S]) release(broke bool) {
	s.pool.Lock()
	s.users--
	s.ended = s.ended || broke || s.users == 0
	if s.ended && s.pool.byServer[s.server] == s {
		delete(s.pool.byServer, s.server)
	}
	last := s.users == 0
	s.pool.Unlock()
	if last {
		s.pool.close(s.driver)
	}
}
