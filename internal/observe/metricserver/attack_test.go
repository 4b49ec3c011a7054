package metricserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// get asks for a path, and returns the status.
func get(t *testing.T, addr net.Addr, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s%s", addr, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestAttackManyAsk: however many ask, and those who never read their answer, few are answered at a time; others are
// refused at once, and answered when there is room again.
func TestAttackManyAsk(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	begun, open := make(chan struct{}, 1000), make(chan struct{})
	go func() {
		ended <- Answer(ctx, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			begun <- struct{}{}
			<-open
		}))
	}()
	var clients sync.WaitGroup
	var refused atomic.Int64
	const extra = 50
	for range mostAsked + mostWait + extra {
		clients.Go(func() {
			switch status := get(t, l.Addr(), "/"); status {
			case http.StatusOK:
			case http.StatusServiceUnavailable:
				refused.Add(1)
			default:
				t.Errorf("one of many gets %d", status)
			}
		})
	}
	for range mostAsked {
		<-begun
	}
	for refused.Load() < extra { // a hang ends with the test's time
		time.Sleep(time.Millisecond)
	}
	if more := len(begun); more > 0 {
		t.Errorf("%d more than %d are answered at a time", more, mostAsked)
	}
	// Those that send half a request take no room.
	for range 50 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nX: ")
	}
	close(open)
	clients.Wait()
	if status := get(t, l.Addr(), "/"); status != http.StatusOK {
		t.Errorf("one that asks again gets %d", status)
	}
	// A header without an end is cut.
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nX: ")
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}()
	if line, _ := bufio.NewReader(c).ReadString('\n'); line == "HTTP/1.1 200 OK\r\n" {
		t.Errorf("a header without an end gets %q", line)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// counting is a collector that counts how often it is asked.
type counting struct{ asked atomic.Int64 }

func (c *counting) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

func (c *counting) Collect(to chan<- prometheus.Metric) {
	c.asked.Add(1)
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc("x", "x", nil, nil), prometheus.GaugeValue, 1)
}

// TestAttackAsksOften: what costs is read for the first of those who ask within a second, and not for each.
func TestAttackAsksOften(t *testing.T) {
	read := 0
	value := Fresh(Age, func() int { read++; return read })
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() { value() })
	}
	clients.Wait()
	c := &counting{}
	metrics, err := Metrics(Age, c)
	if err != nil {
		t.Fatal(err)
	}
	described := c.asked.Load()
	for range 100 {
		metrics.ServeHTTP(&nowhere{http.Header{}}, &http.Request{Method: http.MethodGet, Header: http.Header{}})
	}
	if asked := c.asked.Load() - described; read >= 100 || asked >= 100 || asked == 0 {
		t.Errorf("100 that ask have it read %d and %d times", read, asked)
	}
}

// nowhere is a response that is thrown away.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}
