package client

import (
	"context"
	"net"
	"sync"

	"plimsoll/internal/database"
	"plimsoll/internal/database/socket"
)

// reach dials a server, whatever address the driver takes it for.
type reach struct{ at database.Address }

// DialContext implements the dialers of drivers.
func (r reach) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return socket.Dial(ctx, r.at)
}

// session is what a driver has for one server: connections on which the requests of many clients are under
// way. A process has one for each server.
type session[S any] struct {
	driver S
	at     database.Address
	users  int  // clients that have not been closed
	ended  bool // no client gets it any more
	all    *sessions[S]
}

// sessions are those of this process with one driver, by where their servers are.
type sessions[S any] struct {
	sync.Mutex
	by    map[database.Address]*session[S]
	close func(S)
}

// take returns the session for a server, opened for its first client.
func (all *sessions[S]) take(
	ctx context.Context, at database.Address, open func(context.Context, database.Address) (S, error),
) (*session[S], error) {
	all.Lock()
	defer all.Unlock()
	s := all.by[at]
	if s == nil {
		driver, err := open(ctx, at)
		if err != nil {
			return nil, err
		}
		s = &session[S]{driver: driver, at: at, all: all}
		if all.by == nil {
			all.by = map[database.Address]*session[S]{}
		}
		all.by[at] = s
	}
	s.users++
	return s, nil
}

// release gives a session back; the last client of it closes it. Of one that broke nobody else gets a share.
func (s *session[S]) release(broke bool) {
	s.all.Lock()
	s.users--
	s.ended = s.ended || broke || s.users == 0
	if s.ended && s.all.by[s.at] == s {
		delete(s.all.by, s.at)
	}
	last := s.users == 0
	s.all.Unlock()
	if last {
		s.all.close(s.driver)
	}
}
