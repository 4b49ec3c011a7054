package apply

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const twoServices = `name: shop
x-common: &common {image: "app:1", network_mode: none}
services:
  web:
    <<: *common
    environment: {LEVEL: "${LEVEL:-info}"}
    labels: {plimsoll.class: reads, plimsoll.apart: "true", team: one}
    deploy: {replicas: 2, resources: {limits: {cpus: "0.5", memory: 64M}}}
  db:
    <<: *common
    labels: [plimsoll.class=writes]
    volumes: [data:/var/lib]
    blkio_config: {device_read_iops: [{path: /dev/vda, rate: 500}]}
volumes: {data: {}}
`

func TestComposeIsRead(t *testing.T) {
	p, err := ReadCompose(t.Context(), "compose.yaml", []byte(twoServices), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "shop" || len(p.Services) != 2 {
		t.Fatalf("%+v", p)
	}
	db, web := p.Services[0], p.Services[1]
	if web.Replicas != 2 || web.Limits.NanoCPUs != 5e8 || web.Limits.MemoryBytes != 64<<20 ||
		web.Environment["LEVEL"] != "info" || web.Labels["team"] != "one" || len(web.Labels) != 1 {
		t.Errorf("web: %+v", web)
	}
	if db.Limits.Device != "/dev/vda" || db.Limits.ReadRequests != 500 || len(db.Volumes) != 1 ||
		db.Volumes[0].Name != "data" {
		t.Errorf("db: %+v", db)
	}
	fleet, err := p.Fleet("model.json", "throughput", []Host{{Engine: Engine{Name: "a"}, CPUs: 2, MemoryBytes: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"apart: true", "memory: 67108864B", "read-iops: 500", "class: writes", "count: 2"} {
		if !strings.Contains(string(fleet), want) {
			t.Errorf("the fleet lacks %q:\n%s", want, fleet)
		}
	}
}

// What would reach beyond its container is refused, and no other file is read.
func TestAttackCompose(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("A=very-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLIMSOLL_SECRET", "very-secret")
	service := func(more string) string {
		return "name: shop\nservices:\n  web:\n    image: app:1\n    labels: {plimsoll.class: C}\n    " + more + "\n"
	}
	for name, test := range map[string]struct{ text, want string }{
		"bind":       {service("volumes: ['/:/host']"), "paths of the host"},
		"bind, long": {service("volumes: [{type: bind, source: /etc, target: /x}]"), "paths of the host"},
		"bind by a volume": {service("volumes: ['data:/x']") +
			"volumes: {data: {driver_opts: {type: none, o: bind, device: /}}}", `"driver_opts"`},
		"another's volume":  {service("volumes: ['data:/x']") + "volumes: {data: {name: other_data}}", `"name"`},
		"socket":            {service("volumes: ['/var/run/docker.sock:/x']"), "paths of the host"},
		"privileged":        {service("privileged: true"), "rights of root"},
		"cap_add":           {service("cap_add: [ALL]"), `"cap_add"`},
		"devices":           {service("devices: ['/dev/vda:/dev/vda']"), `"devices"`},
		"pid":               {service("pid: host"), `"pid"`},
		"ipc":               {service("ipc: host"), `"ipc"`},
		"user namespace":    {service("userns_mode: host"), `"userns_mode"`},
		"seccomp":           {service("security_opt: ['seccomp=unconfined']"), `"security_opt"`},
		"host network":      {service("network_mode: host"), "network"},
		"another's network": {service("network_mode: 'container:db'"), "network"},
		"cgroup":            {service("cgroup_parent: /"), `"cgroup_parent"`},
		"runtime":           {service("runtime: evil"), `"runtime"`},
		"API":               {service("use_api_socket: true"), `"use_api_socket"`},
		"hook":              {service("post_start: [{command: id, privileged: true}]"), `"post_start"`},
		"env_file":          {service("env_file: " + secret), `"env_file"`},
		"label_file":        {service("label_file: " + secret), `"label_file"`},
		"extends":           {service("extends: {file: " + secret + ", service: x}"), `"extends"`},
		"include":           {service("") + "include: [" + secret + "]", `"include"`},
		"secrets":           {service("secrets: [s]") + "secrets: {s: {file: " + secret + "}}", `"secrets"`},
		"configs":           {service("configs: [s]") + "configs: {s: {file: " + secret + "}}", `"configs"`},
		"secret of Swarm":   {service("secrets: [s]") + "secrets: {s: {external: true}}", `"external"`},
		"secret of the environment": {service("secrets: [s]") + "secrets: {s: {environment: PLIMSOLL_SECRET}}",
			"has no value"},
		"build":              {strings.Replace(service("build: ."), "image: app:1", "user: x", 1), `"build"`},
		"network outside":    {service("networks: [n]") + "networks: {n: {external: true}}", `"external"`},
		"network of another": {service("networks: [n]") + "networks: {n: {driver: host}}", `driver "host"`},
		"interface":          {service("networks: [n]") + "networks: {n: {driver: macvlan}}", `driver "macvlan"`},
		"bridge's options": {service("networks: [n]") +
			"networks: {n: {driver_opts: {com.docker.network.bridge.name: docker0}}}", `"driver_opts"`},
		"address":           {service("networks: {n: {ipv4_address: 10.0.0.1}}") + "networks: {n: {}}", `"ipv4_address"`},
		"name of a network": {service("networks: {n: {aliases: ['x y']}}") + "networks: {n: {}}", `"x y"`},
		"outside volume":    {service("volumes: ['data:/x']") + "volumes: {data: {external: true}}", `"external"`},
		"volume's driver":   {service("volumes: ['data:/x']") + "volumes: {data: {driver: evil}}", `driver "evil"`},
		"GPUs": {service("deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}"),
			`"devices"`},
		"gpus":               {service("gpus: all"), `"gpus"`},
		"device rules":       {service("device_cgroup_rules: ['b 8:* rmw']"), `"device_cgroup_rules"`},
		"annotations":        {service("annotations: {run.oci.keep_original_groups: '1'}"), `"annotations"`},
		"sysctl of the host": {service("sysctls: {vm.swappiness: 1}"), `sysctl "vm.swappiness"`},
		"sysctl's path":      {service("sysctls: {net/../vm/swappiness: 1}"), "sysctl"},
		"priority":           {service("ulimits: {rtprio: 99}"), `ulimit "rtprio"`},
		"OOM":                {service("oom_score_adj: -1000"), `"oom_score_adj"`},
		"OOM off":            {service("oom_kill_disable: true"), `"oom_kill_disable"`},
		"log to a socket":    {service("logging: {driver: syslog, options: {syslog-address: 'unix:///run/x'}}"), `"syslog"`},
		"log option":         {service("logging: {driver: json-file, options: {cache-disabled: 'x'}}"), `"cache-disabled"`},
		"tmpfs option":       {service("tmpfs: ['/x:exec,dev']"), "tmpfs"},
		"swap":               {service("mem_limit: 1g\n    memswap_limit: 512m"), "memswap_limit"},
		"hosts":              {service("extra_hosts: ['a b:1.2.3.4']"), "extra_hosts"},
		"label of Compose": {strings.Replace(service(""), "class: C", "class: C, com.docker.compose.project: other", 1),
			"one of Docker's own"},
		"provider":         {service("provider: {type: evil}"), `"provider"`},
		"seccomp, long":    {service("security_opt: ['no-new-privileges:true', 'apparmor:unconfined']"), "apparmor"},
		"ring":             {service("depends_on: [web]"), "web"},
		"nested variables": {service("hostname: " + strings.Repeat("${A:-", 5000) + strings.Repeat("}", 5000)), "nested"},
		"own label": {strings.Replace(service(""), "class: C", "class: C, plimsoll.project: other", 1),
			"one of Plimsoll's own"},
		"environment":      {service("environment: [PLIMSOLL_SECRET]"), "has no value"},
		"variable":         {service("hostname: $PLIMSOLL_SECRET"), `variable "PLIMSOLL_SECRET"`},
		"escape in a name": {"name: shop\nservices: {\"a\\e[2J\": {image: x}}", "compose.yaml"},
		"escape in image": {"name: shop\nservices: {a: {image: \"x\\e]0;t\\a\", labels: {plimsoll.class: C}}}",
			"is no image"},
		"path in the name": {"name: ../../etc\nservices: {a: {image: x}}", "compose.yaml"},
		"bomb":             {bomb(), "compose.yaml"},
		"replicas":         {service("scale: 1000000000"), "replicas"},
		"two documents":    {service("") + "---\nservices: {x: {image: y, privileged: true}}", "more than one document"},
		"reset":            {service("privileged: !reset true"), ""},
		"one port for two": {service("ports: ['80:80']\n    scale: 2"), "would be published"},
		"shared volume": {service("volumes: ['data:/x']\n    scale: 2") +
			"  db: {image: x, labels: {plimsoll.class: C}, volumes: ['data:/x']}\n" +
			"volumes: {data: {}}", "of services"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ReadCompose(t.Context(), "compose.yaml", []byte(test.text), nil, nil)
			if test.want == "" {
				if err != nil || len(p.Services) != 1 {
					t.Errorf("%+v, %v", p, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want it refused with %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "very-secret") {
				t.Errorf("another file, or the environment, was read: %v", err)
			}
		})
	}
}

func bomb() string {
	text := "name: shop\nx-a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		a := "*a" + string(rune('0'+i))
		text += "x-a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat(a+",", 9) + a + "]\n"
	}
	return text + "services: {a: {image: x}}\n"
}

// A plan's file is checked as a Compose file is: it may have been edited.
func TestAttackPlan(t *testing.T) {
	const good = `{"kind":"plimsoll plan","plan":{"hosts":[{"hosts":["a"],"containers":[{"containers":"web","count":1}]}]},
"deployment":{"project":"shop","engines":[{"name":"a","host":"unix:///run/d.sock","id":"X"}],
"services":[{"name":"web","replicas":1,"image":"app:1"}]}}`
	if _, err := ReadPlan([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"project":"shop"`, `"project":"../x"`},
		{`unix:///run/d.sock`, `tcp://1.2.3.4`},
		{`unix:///run/d.sock`, `tcp://u:p@1.2.3.4:2376`},
		{`unix:///run/d.sock`, `tcp://1.2.3.4:2376/x`},
		{`unix:///run/d.sock`, `http://1.2.3.4:2376`},
		{`unix:///run/d.sock`, `unix:///run/../d.sock`},
		{`unix:///run/d.sock`, `ssh://-oProxyCommand=id@x`},
		{`"image":"app:1"`, `"image":"app:1","network":"host"`},
		{`"image":"app:1"`, `"image":"app:1","volumes":[{"name":"/etc","target":"/x"}]`},
		{`"image":"app:1"`, `"image":"app:1","labels":{"plimsoll.project":"other"}`},
		{`"count":1`, `"count":-1`},
		{`"count":1`, `"count":2`},
		{`"hosts":["a"]`, `"hosts":["b"]`},
		{`"id":"X"`, `"id":""`},
		{`plimsoll plan`, `plimsoll model`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if _, err := ReadPlan([]byte(text)); err == nil || text == good {
			t.Errorf("%s passed for %s", change[1], change[0])
		}
	}
}
