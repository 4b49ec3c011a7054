package apply

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A volume is the project's by its labels, which an engine that was restarted says only when asked for the volume.
func TestVolumesOfAnEngineThatWasRestarted(t *testing.T) {
	for name, test := range map[string]struct {
		made, found string // labels in the answers
		owned       bool
	}{
		"made":      {`{"plimsoll.project":"shop"}`, `{}`, true},
		"restarted": {`null`, `{"plimsoll.project":"shop"}`, true},
		"another's": {`{"plimsoll.project":"other"}`, `{"plimsoll.project":"other"}`, false},
		"nobody's":  {`null`, `null`, false},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "d.sock")
			listener, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Api-Version", "1.41")
				labels := test.found
				if strings.HasSuffix(r.URL.Path, "/volumes/create") {
					w.WriteHeader(http.StatusCreated)
					labels = test.made
				}
				fmt.Fprintf(w, `{"Name":"shop.data-1","Driver":"local","Labels":%s}`, labels)
			})}
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { _ = server.Close() })
			c, err := Engine{Name: "a", Host: "unix://" + socket}.connect()
			if err != nil {
				t.Fatal(err)
			}
			defer c.api.Close()
			if err := c.ownVolume(t.Context(), "shop.data-1", "shop"); (err == nil) != test.owned {
				t.Errorf("owned: %v", err)
			}
		})
	}
}
