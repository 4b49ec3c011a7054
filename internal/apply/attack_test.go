package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/problem"
)

// TestAttackVolumesOfOthers: projects and volumes whose names run together are not one volume, and a volume that is
// there belongs to the project whose label it has, or is not mounted.
func TestAttackVolumesOfOthers(t *testing.T) {
	names := map[string]string{}
	for _, pair := range [][2]string{{"a", "b_c"}, {"a_b", "c"}, {"a", "b-c"}, {"a-b", "c"}, {"a", "b.c"}, {"a-1", "b"},
		{"a", "1-b"}, {"a_b", "c.d"}, {"a", "b_c.d"}, {"a", "b-1"}, {"a", "b"}} {
		for number := 1; number <= 2; number++ {
			name := (&Target{Deployment: Deployment{Project: pair[0]}}).volume(pair[1], number)
			if other := names[name]; other != "" {
				t.Errorf("%s is of %v and of %s", name, pair, other)
			}
			names[name] = fmt.Sprint(pair, number)
		}
	}
	var labels map[string]string // of the volume that is there; nil for none
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "d.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Api-Version", "1.41")
		if !strings.HasSuffix(r.URL.Path, "/volumes/create") {
			fmt.Fprint(w, "{}")
			return
		}
		// As engines do, it answers with the volume that it has.
		asked := struct{ Labels map[string]string }{}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if labels == nil {
			labels = asked.Labels
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"Name": "shop.db-1", "Labels": labels})
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	c, err := Engine{Name: "a", Host: "unix://" + filepath.Join(dir, "d.sock"), ID: "X"}.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.api.Close()
	for name, test := range map[string]struct {
		labels map[string]string
		taken  bool
	}{
		"none yet":              {nil, true},
		"the project's":         {map[string]string{labelProject: "shop"}, true},
		"another project's":     {map[string]string{labelProject: "bank"}, false},
		"without a label":       {map[string]string{}, false},
		"of docker compose":     {map[string]string{"com.docker.compose.project": "shop"}, false},
		"of a longer name":      {map[string]string{labelProject: "shop_db"}, false},
		"of an empty project":   {map[string]string{labelProject: ""}, false},
		"with the label's case": {map[string]string{strings.ToUpper(labelProject): "shop"}, false},
	} {
		labels = test.labels
		err := c.ownVolume(t.Context(), "shop.db-1", "shop")
		if test.taken != (err == nil) || err != nil && (!errors.Is(err, problem.Protected) || problem.Of(err).Remedy == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
