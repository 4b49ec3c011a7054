package starter

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/experiment"
	"plimsoll/internal/model"
)

// Images are known by their names, and what only speaks to a database is none.
func TestClassesOfImages(t *testing.T) {
	for image, want := range map[string]string{
		"postgres:16-alpine": "postgresql", "docker.io/library/postgres@sha256:0": "postgresql",
		"postgis/postgis": "postgresql",
		"mysql:8.4":       "mysql", "percona/percona-server:8": "mysql", "mariadb": "mariadb", "cassandra:5": "cassandra",
		"scylladb/scylla": "cassandra", "mongo:7": "mongodb", "percona/percona-server-mongodb": "mongodb",
		"redis:7": "key-value", "docker.elastic.co/elasticsearch/elasticsearch:8": "key-value",
		"confluentinc/cp-kafka": "key-value", "quay.io/coreos/etcd:v3": "key-value",
		"prom/mysqld-exporter": "light", "mongo-express": "light", "provectuslabs/kafka-ui": "light",
		"phpmyadmin": "light", "redis/redisinsight": "light", "nginx": "light", "shop/app:postgres": "light",
		"postgres.example.org/app": "light", "": "light",
	} {
		if got := classOf(image).Name; got != want {
			t.Errorf("%s is %s, want %s", image, got, want)
		}
	}
}

// Each set of classes makes an experiment that a model can be fitted to: of each class enough numbers, and a guess is
// called one.
func TestComposeExperiments(t *testing.T) {
	images := []string{"postgres", "mysql", "mariadb", "cassandra", "scylla", "mongo", "redis", "elasticsearch", "kafka",
		"nginx"}
	for n := range images {
		var services []ComposeService
		for _, image := range images[n:] {
			services = append(services, ComposeService{"s-" + image, image})
		}
		classes := ComposeClasses(services)
		var out bytes.Buffer
		if err := WriteCompose(&out, server(), "compose.yaml", classes); err != nil {
			t.Fatal(err)
		}
		e := parsed(t, out.String())
		points := map[string]int{}
		for _, m := range e.Mixes {
			for _, tenant := range m.Tenants {
				points[tenant.Workload]++
			}
		}
		for _, c := range classes {
			if points[c.Name] < model.FewestPoints {
				t.Errorf("class %s has %d points of %d:\n%s", c.Name, points[c.Name], model.FewestPoints, out.String())
			}
			if !strings.Contains(c.Sentence(), "a guess") || !strings.Contains(out.String(), c.Sentence()) {
				t.Errorf("class %s is not called a guess: %s", c.Name, c.Sentence())
			}
		}
		if len(e.Workloads) != len(classes) {
			t.Errorf("%d workloads of %d classes", len(e.Workloads), len(classes))
		}
	}
	named := ComposeClasses([]ComposeService{{"a", "redis"}, {"b", "redis"}, {"c", "redis"}, {"d", "redis"},
		{"e", "redis"}, {"f", "redis"}, {"g", "redis"}, {"h", "redis"}})
	if got := named[0].Sentence(); len(named) != 1 || !strings.HasPrefix(got, "a, b, c, d, e, f and 2 more: class ") {
		t.Errorf("%s", got)
	}
}

// Names of files, services, images and devices are other people's: whatever they are, the file has the same keys.
func TestAttackComposeExperiment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hostile := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\n\r\t"':#{}$%&*\\> a/-]{0,12}`),
			rapid.Just("x\n  evil: {fio: {pattern: randwrite}}\n#"), rapid.Just("\u2028evil: /dev/vda"), rapid.Just("\x1b[2J"))
		h := server()
		h.File, h.Report.Environment.Hostname = hostile.Draw(t, "file"), hostile.Draw(t, "host")
		classes := ComposeClasses([]ComposeService{{hostile.Draw(t, "service"), hostile.Draw(t, "image")},
			{"db", "postgres"}})
		var out bytes.Buffer
		if err := WriteCompose(&out, h, hostile.Draw(t, "compose"), classes); err != nil {
			t.Fatal(err)
		}
		e := parsed(t, out.String())
		names := []string{}
		for _, w := range e.Workloads {
			names = append(names, w.Name)
		}
		for _, c := range classes {
			names = slices.DeleteFunc(names, func(name string) bool { return name == c.Name })
		}
		if len(names) > 0 || len(e.Stacks) != 1 || strings.ContainsRune(out.String(), '\x1b') {
			t.Errorf("workloads %q, stacks %s:\n%s", names, stacksOf(e), out.String())
		}
		_ = experiment.Trials(e, 0)
	})
}
