package apply

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// file is a Compose file of services, each with a class.
func file(services ...string) string {
	text := "name: shop\nservices:\n"
	for _, s := range services {
		name, rest, _ := strings.Cut(s, ": ")
		text += "  " + name + ": {image: " + strings.TrimRight(name, "0123456789") + ":1, " + rest + "}\n"
	}
	return text
}

func labels(more string) string { return "labels: {plimsoll.class: C" + more + "}" }

// readFleet returns the groups of a file, and what the fleet of engines has of beside and away-from.
func readFleet(t *testing.T, text string, engines ...Engine) (*Project, string, error) {
	t.Helper()
	p, err := ReadCompose(t.Context(), "compose.yaml", []byte(text), nil, nil)
	if err != nil {
		return p, "", err
	}
	var hosts []Host
	for _, e := range engines {
		hosts = append(hosts, Host{Engine: e, CPUs: 2, MemoryBytes: 1 << 30})
	}
	demands, wrong := p.wishes(hosts)
	if len(wrong) > 0 {
		return p, "", wrong
	}
	var relations []string
	for _, s := range p.Services {
		for _, key := range []string{"beside", "away-from"} {
			if names := demands[s.Name][key]; names != nil {
				relations = append(relations, fmt.Sprintf("%s %s %v", s.Name, key, names))
			}
		}
	}
	slices.Sort(relations)
	return p, strings.Join(relations, "; "), nil
}

func twoEngines() []Engine {
	return []Engine{{Name: "a", Address: "10.0.0.1"}, {Name: "b", Address: "10.0.0.2"}}
}

// Services that name each other stand on one engine, and those that publish one port do not.
func TestServicesThatTalkStandTogether(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		fleet  string // what it asks of places, or the error
		reason string // of the first group
	}{
		"environment": {file("app: environment: [DB_HOST=db], "+labels(""), "db: "+labels("")),
			"db beside [app]", "app names db in DB_HOST"},
		"part of a value": {file("app: environment: [\"URL=postgres://u:p@db:5432/x\"], "+labels(""), "db: "+labels("")),
			"db beside [app]", "app names db in URL"},
		"part of a name": {file("app: environment: [DB_HOST=db.example.org], "+labels(""), "db: "+labels("")), "", ""},
		"command": {file("app: command: [run, --host=db], "+labels(""), "db: "+labels("")),
			"db beside [app]", "app names db in its command"},
		"depends_on": {file("app: depends_on: {db: {condition: service_healthy}}, "+labels(""), "db: "+labels("")),
			"db beside [app]", "app depends on db"},
		"link": {file("app: links: ['db:store'], environment: [H=store], "+labels(""), "db: "+labels("")),
			"db beside [app]", "app has a link to db"},
		"container_name": {file("app: environment: [H=shop_db], "+labels(""), "db: container_name: shop_db, "+labels("")),
			"db beside [app]", "app names shop_db in H"},
		"network": {file("app: networks: [n], "+labels(""), "db: networks: [n], "+labels("")) + "networks: {n: {}}",
			"db beside [app]", "app and db name the network n"},
		"no common network": {file("app: networks: [n], environment: [H=db], "+labels(""), "db: networks: [m], "+labels("")) +
			"networks: {n: {}, m: {}}", "", ""},
		"without a network": {file("app: network_mode: none, environment: [H=db], "+labels(""), "db: "+labels("")), "", ""},
		"config": {file("app: configs: [c], "+labels(""), "db: "+labels("")) +
			"configs: {c: {content: 'upstream db 80'}}", "db beside [app]", "app names db in /c"},
		"volume": {file("app: volumes: ['vol:/v'], "+labels(""), "db: volumes: ['vol:/v'], "+labels("")) +
			"volumes: {vol: {}}", "db beside [app]", "app and db have the volume vol"},
		"several containers": {file("app: scale: 3, environment: [H=db], "+labels(""), "db: "+labels("")),
			"app beside [db]", "app names db in H"},
		"several containers of each": {file("app: scale: 3, environment: [H=db], "+labels(""), "db: scale: 2, "+labels("")),
			"each has several containers", ""},
		"apart and together": {file("app: scale: 2, environment: [H=db], "+labels(", plimsoll.apart: 'true'"),
			"db: "+labels("")), "are to be apart, and talk to others", ""},
		"beside another": {file("app: environment: [H=db], "+labels(", plimsoll.beside: cache"), "cache: "+labels(""),
			"db: "+labels("")), "app beside [cache]; db beside [app]", "app names db in H"},
		"beside two": {file("app: environment: [H=db], "+labels(", plimsoll.beside: cache"), "cache: "+labels(""),
			"db: "+labels(", plimsoll.beside: x"), "x: "+labels("")), "are to be beside", ""},
		"one port": {file("pg1: ports: ['5432:5432'], "+labels(""), "pg2: ports: ['5432:80'], "+labels("")),
			"pg2 away-from [pg1]", ""},
		"one port of two addresses": {file("pg1: ports: ['10.0.0.1:5432:5432'], "+labels(""),
			"pg2: ports: ['10.0.0.2:5432:5432'], "+labels("")), "", ""},
		"one port of one address and all": {file("pg1: ports: ['10.0.0.1:5432:5432'], "+labels(""),
			"pg2: ports: ['5432:5432'], "+labels("")), "pg2 away-from [pg1]", ""},
		"one port of three": {file("pg1: ports: ['5432:5432'], "+labels(""), "pg2: ports: ['5432:5432'], "+labels(""),
			"pg3: ports: ['5432:5432'], "+labels("")), "there are 2 engines", ""},
		"one port, and together": {file("pg1: ports: ['5432:5432'], environment: [PEER=pg2], "+labels(""),
			"pg2: ports: ['5432:5432'], "+labels("")), "reach each other by names", ""},
		"reached by ports": {file("app: environment: [H=db], "+labels(""),
			"db: ports: ['5432:5432'], "+labels(", plimsoll.reach: ports")), "", ""},
		"reached by another port": {file("app: environment: [H=db], "+labels(""),
			"db: ports: ['5433:5432'], "+labels(", plimsoll.reach: ports")), "needs a port that is published as itself", ""},
		"reached by what is not known": {file("app: " + labels(", plimsoll.reach: magic")), `"magic" is none`, ""},
		"reached outside": {file("app: networks: [n], "+labels(""), "db: networks: [n], "+
			labels(", plimsoll.reach: external")) + "networks: {n: {}}", "", ""},
		"apart-group": {file("a1: "+labels(", plimsoll.apart-group: q"), "a2: "+labels(", plimsoll.apart-group: q")),
			"a2 away-from [a1]", ""},
		"apart-group that talks": {file("a1: environment: [P=a2], "+labels(", plimsoll.apart-group: q"),
			"a2: "+labels(", plimsoll.apart-group: q")), "reach each other by names", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, fleet, err := readFleet(t, test.text, twoEngines()...)
			if err != nil {
				if test.fleet == "" || !strings.Contains(err.Error(), test.fleet) {
					t.Errorf("got %v, want %q", err, test.fleet)
				}
				return
			}
			if fleet != test.fleet {
				t.Errorf("the fleet has %q, want %q", fleet, test.fleet)
			}
			if test.reason != "" && (len(p.Groups) != 1 || !slices.Contains(p.Groups[0].Why, test.reason)) {
				t.Errorf("groups %+v, want the reason %q", p.Groups, test.reason)
			}
			if test.reason == "" && len(p.Groups) > 0 {
				t.Errorf("groups %+v, want none", p.Groups)
			}
		})
	}
}

// Members of a quorum are said to stand on one engine, and stand apart where they are reached by ports.
func TestQuorumStandsApart(t *testing.T) {
	member := func(n int, more string) string {
		return fmt.Sprintf("etcd%d: environment: ['PEERS=etcd1:2380,etcd2:2380,etcd3:2380'], ports: ['2380:2380'], %s", n,
			labels(more))
	}
	outsider := "etcd4: environment: ['H=etcd1:2379'], " + labels("")
	together := strings.ReplaceAll(file(member(1, ""), member(2, ""), member(3, ""), outsider),
		"'2380:2380'", "'2380'")
	p, _, err := readFleet(t, together, twoEngines()...)
	if err != nil || len(p.Groups) != 1 || !slices.ContainsFunc(p.Notes, func(n string) bool {
		return strings.HasPrefix(n, "etcd1, etcd2 and etcd3 have one image and name each other")
	}) {
		t.Errorf("groups %+v, notes %q, %v", p.Groups, p.Notes, err)
	}
	const apart = ", plimsoll.reach: ports, plimsoll.apart-group: etcd"
	text := file(member(1, apart), member(2, apart), member(3, apart))
	if _, _, err = readFleet(t, text, twoEngines()...); err == nil || !strings.Contains(err.Error(), "2 engines") {
		t.Errorf("three are apart on two engines: %v", err)
	}
	p, fleet, err := readFleet(t, text, append(twoEngines(), Engine{Name: "c", Address: "10.0.0.3"})...)
	const want = "etcd2 away-from [etcd1]; etcd3 away-from [etcd1 etcd2]"
	if err != nil || fleet != want || len(p.Groups) > 0 || fmt.Sprint(p.Services[0].Reaches) != "[etcd2 etcd3]" {
		t.Errorf("%+v: the fleet has %q, want %q: %v", p, fleet, want, err)
	}
	if _, _, err = readFleet(t, text, append(twoEngines(), Engine{Name: "c"})...); err == nil ||
		!strings.Contains(err.Error(), "engine c has no address") {
		t.Errorf("an engine without an address: %v", err)
	}
}

// Services are in the order in which they are started.
func TestServicesAreStartedInTheOrderOfDependencies(t *testing.T) {
	p, _, err := readFleet(t, file("app: depends_on: {db: {condition: service_healthy}, "+
		"setup: {condition: service_completed_successfully}}, "+labels(""), "setup: depends_on: [db], "+labels(""),
		"db: "+labels(""), "zoo: "+labels("")))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Services {
		names = append(names, s.Name)
	}
	if fmt.Sprint(names) != "[db zoo setup app]" || !p.Services[2].Once || p.Services[0].Once {
		t.Errorf("%v: %+v", names, p.Services)
	}
}

// What gives no rights is taken: the container is made with it.
func TestKeysWithoutRightsAreTaken(t *testing.T) {
	p, err := ReadCompose(t.Context(), "compose.yaml", []byte(`name: shop
services:
  db:
    image: postgres:16
    platform: linux/amd64
    pull_policy: always
    build: .
    labels: {plimsoll.class: C}
    env_file: [{path: db.env}, {path: none.env, required: false}]
    environment: {LEVEL: "${LEVEL:-info}", ALT: "${NONE:+set}", EMPTY: "${NONE-}", KNOWN: "${GIVEN}"}
    healthcheck: {test: pg_isready, interval: 2s, retries: 3, start_period: 1m}
    ulimits: {nofile: {soft: 100, hard: 200}, memlock: -1}
    sysctls: {net.core.somaxconn: 1024}
    shm_size: 64m
    mem_limit: 1g
    memswap_limit: 2g
    cpu_shares: 512
    logging: {driver: json-file, options: {max-size: 10m}}
    security_opt: ["no-new-privileges:true"]
    extra_hosts: ["outside:10.0.0.9"]
    tmpfs: ["/cache:size=64m"]
    volumes: ["./db.env:/copied:ro", "./conf.d:/etc/conf.d:ro", {type: tmpfs, target: /dev/shm2, tmpfs: {size: 1024}}]
    secrets: [password, {source: password, target: /other, mode: 256, uid: "70"}]
    configs: [{source: conf, target: /etc/db.conf}]
    tty: true
    deploy: {restart_policy: {condition: on-failure, max_attempts: 3}, resources: {reservations: {cpus: "0.1"}}}
secrets: {password: {file: ./password}}
configs: {conf: {content: "a=${GIVEN}"}}
`), map[string]string{"GIVEN": "yes"}, files{"db.env": "FROM_FILE=${GIVEN}\nLEVEL=file\n", "./db.env": "bound",
		"./password": "secret", "conf.d/a.cnf": "a", "conf.d/more/b.cnf": "b"})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Services[0]
	target := &Target{Deployment: Deployment{Project: "shop", Services: p.Services}}
	made, err := target.creation(&s, 1, "token")
	if err != nil {
		t.Fatal(err)
	}
	h, c := made.HostConfig, made.Config
	got := fmt.Sprint(c.Env, c.Healthcheck.Test, c.Healthcheck.Interval, c.Healthcheck.Retries, c.Healthcheck.StartPeriod,
		c.Tty, h.Ulimits[0], h.Ulimits[1], h.Sysctls, h.ShmSize, h.Memory, h.MemorySwap, h.CPUShares, h.LogConfig,
		h.SecurityOpt, h.ExtraHosts, h.Tmpfs, h.RestartPolicy)
	const want = "[ALT= EMPTY= FROM_FILE=yes KNOWN=yes LEVEL=info] [CMD-SHELL pg_isready] 2s 3 1m0s true " +
		"memlock=-1:-1 nofile=100:200 map[net.core.somaxconn:1024] 67108864 1073741824 2147483648 512 " +
		"{json-file map[max-size:10m]} [no-new-privileges] [outside:10.0.0.9] map[/cache:size=64m /dev/shm2:size=1024] " +
		"{on-failure 3}"
	if got != want {
		t.Errorf("it is made with\n%s\nwant\n%s", got, want)
	}
	files := ""
	for _, f := range s.Files {
		files += fmt.Sprintf("%s %o %d %s; ", f.Target, f.Mode, f.UID, f.Content)
	}
	if files != "/copied 555 0 bound; /etc/conf.d/a.cnf 555 0 a; /etc/conf.d/more/b.cnf 555 0 b; "+
		"/run/secrets/password 444 0 secret; /other 400 70 secret; "+
		"/etc/db.conf 444 0 a=yes; " {
		t.Errorf("files: %s", files)
	}
	for _, key := range []string{"build", "cpus", "platform", "pull_policy"} {
		if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, key+" of ") }) {
			t.Errorf("no note says that %s is left out: %q", key, p.Notes)
		}
	}
}

// files are the files beside a Compose file, by their names.
type files map[string]string

func (f files) Read(name string) ([]byte, error) {
	if text, known := f[name]; known {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (f files) List(directory string) (names []string, err error) {
	for name := range f {
		if below, ok := strings.CutPrefix(name, path.Clean(directory)+"/"); ok {
			names = append(names, below)
		}
	}
	slices.Sort(names)
	if names == nil {
		err = fmt.Errorf("%s: %w", directory, fs.ErrNotExist)
	}
	return names, err
}

// A directory beside the file is copied where it is only read. One that may be written is this host's alone, and paths
// elsewhere are refused for what they open.
func TestDirectoriesThatAreBound(t *testing.T) {
	_, err := ReadCompose(t.Context(), "compose.yaml", []byte(`name: shop
services:
  a: {image: x, labels: {plimsoll.class: C}, volumes: ["./data:/data", "./big:/big:ro", "/srv:/srv:ro"]}
  b: {image: x, labels: {plimsoll.class: C}, volumes: [{type: bind, source: ./data, target: /data}, "../up:/up"]}
`), nil, files{"data/x": "", "big/x": strings.Repeat("x", mostFile+1)})
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{`service a and b: directories of this host in volumes, which may be written: "./data"`,
		`service a and b: paths of the host in volumes: "../up" and "/srv"`,
		`service "a": directory "./big" cannot be copied into it: x: it is larger than 500 KiB`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("without %q:\n%v", want, err)
		}
	}
}

// A file without a name has that of its directory.
func TestProjectIsNamedAsItsDirectory(t *testing.T) {
	text := strings.TrimPrefix(file("db: "+labels("")), "name: shop\n")
	p, err := ReadCompose(t.Context(), "/srv/My.Shop/compose.yaml", []byte(text), nil, nil)
	if err != nil || p.Name != "myshop" {
		t.Errorf("%+v, %v", p, err)
	}
}

// Each key that Compose has is taken, left out, or refused with a reason of its own.
func TestEachKeyOfComposeHasAnAnswer(t *testing.T) {
	for kind, config := range map[string]any{"service": types.ServiceConfig{}, "deploy": types.DeployConfig{},
		"volume": types.VolumeConfig{}, "network": types.NetworkConfig{}, "network of service": types.ServiceNetworkConfig{},
		"secret or config": types.FileObjectConfig{}} {
		fields := reflect.TypeOf(config)
		for i := range fields.NumField() {
			key, _, _ := strings.Cut(fields.Field(i).Tag.Get("yaml"), ",")
			// These have other names in files, or are older than the Compose specification.
			if key == "" || key == "-" || key == "#extensions" ||
				kind == "service" && slices.Contains([]string{"dockerfile", "log_driver", "log_opt", "name", "net"}, key) {
				continue
			}
			set := keySets[kind]
			if slices.Contains(set.taken, key) || set.leftOut[key] != "" || refusals[key].why != "" ||
				refusals[kind+" "+key].why != "" {
				continue
			}
			t.Errorf("%q of a %s is refused without a reason", key, kind)
		}
	}
}

// All that is wrong is said at once: a line for each key, with the line of the file and all services that have it.
func TestAllProblemsOfAComposeFileAtOnce(t *testing.T) {
	_, err := ReadCompose(t.Context(), "compose.yaml", []byte(`name: shop
services:
  a:
    image: x
    privileged: true
    hostname: ${FIRST}
  b:
    image: "${SECOND:?name it}"
    privileged: true
    devices: ["/dev/vda:/dev/vda"]
  c:
    image: y
    volumes: ["/etc:/x"]
`), nil, nil)
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{`compose.yaml:6: the variable "FIRST"`, `compose.yaml:8: the variable "SECOND": name it`,
		`compose.yaml:5: "privileged" of service a and b cannot be applied`, `compose.yaml:10: "devices" of service b`,
		`compose.yaml:13: service c: paths of the host in volumes: "/etc"`,
		"compose.yaml: service a, b and c: no label plimsoll.class"} {
		if strings.Count("\n"+err.Error(), "\n"+want) != 1 {
			t.Errorf("no line begins with %q:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d lines, want 6:\n%v", n, err)
	}
}
