package apply

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/units/plural"
)

// keySet is the keys of one kind of mapping in a Compose file. What is in neither part is refused.
type keySet struct {
	taken   []string
	leftOut map[string]string // the reasons, by keys without which a container is the same
}

// noPull is why what says where images come from is left out.
const noPull = "engines run images that they have"

// The keys that a container can be made from. What gives rights on the host is in none of them.
var (
	topKeys     = keySet{taken: []string{"name", "version", "services", "volumes", "networks", "secrets", "configs"}}
	serviceKeys = keySet{taken: []string{"image", "command", "entrypoint", "environment", "env_file", "labels", "deploy",
		"cpus", "mem_limit", "memswap_limit", "pids_limit", "cpu_shares", "shm_size", "ulimits", "sysctls", "blkio_config",
		"user", "working_dir", "hostname", "container_name", "stop_signal", "stop_grace_period", "init", "read_only",
		"tmpfs", "cap_drop", "security_opt", "volumes", "ports", "expose", "network_mode", "networks", "links",
		"extra_hosts", "depends_on", "healthcheck", "logging", "secrets", "configs", "restart", "scale", "stdin_open",
		"tty", "profiles"},
		leftOut: map[string]string{
			"attach":          "apply shows no output of containers",
			"build":           noPull + ", under the name of image: docker compose build, docker compose push",
			"develop":         "docker compose watch reads it",
			"mem_reservation": "the plan reserves what the class needs",
			"platform":        noPull,
			"pull_policy":     noPull,
		}}
	deployKeys = keySet{taken: []string{"mode", "replicas", "resources", "restart_policy"},
		leftOut: map[string]string{
			"endpoint_mode":   "Swarm reads it",
			"labels":          "only Swarm's services have them",
			"rollback_config": "apply --undo takes back what did not end",
			"update_config":   "apply replaces containers one after the other",
		}}
	resourceKeys    = keySet{taken: []string{"limits", "reservations"}}
	limitKeys       = keySet{taken: []string{"cpus", "memory", "pids"}}
	reservationKeys = keySet{leftOut: map[string]string{
		"cpus":   "the plan reserves what the class needs",
		"memory": "the plan reserves what the class needs",
	}}
	blkioKeys = keySet{taken: []string{"device_read_bps", "device_write_bps", "device_read_iops", "device_write_iops"}}
	// A driver's options make a volume of any path of the host, and a name one of another project's.
	volumeKeys  = keySet{taken: []string{"driver"}, leftOut: map[string]string{"labels": "a volume has its project's"}}
	networkKeys = keySet{taken: []string{"driver", "internal"}, leftOut: map[string]string{
		"attachable": "Swarm reads it",
		"labels":     "a network has its project's",
		"name":       "a network is PROJECT.NAME on its engine",
	}}
	attachmentKeys = keySet{taken: []string{"aliases"}, leftOut: map[string]string{
		"gw_priority": "the engine chooses the gateway",
		"priority":    "networks are joined by their names",
	}}
	fileKeys = keySet{taken: []string{"file", "content", "environment"},
		leftOut: map[string]string{"name": "a file has the name of its target", "labels": "a file has none"}}
)

// keySets are the sets by the kind of mapping.
var keySets = map[string]keySet{"": topKeys, "service": serviceKeys, "deploy": deployKeys, "resources": resourceKeys,
	"limits": limitKeys, "reservations": reservationKeys, "blkio_config": blkioKeys, "volume": volumeKeys,
	"network": networkKeys, "network of service": attachmentKeys, "secret or config": fileKeys}

// refusal is why a key is refused, and what to do.
type refusal struct{ why, remedy string }

// Reasons that several keys have.
var (
	ofHost     = func(why string) refusal { return refusal{why: "it would " + why} }
	otherFiles = refusal{"it names other files", "docker compose config writes one complete file"}
	// fixedAddress is the reason for addresses, which no two engines have alike.
	fixedAddress = refusal{"the engine chooses addresses", "leave it out, and reach services by their names"}
)

// refusals are by key, or by "KIND KEY" where a key means another thing elsewhere.
var refusals = map[string]refusal{
	"annotations":             ofHost("have a say in what runs it on its host"),
	"build":                   {noPull, "build and push it first: docker compose build; write its name as image"},
	"cap_add":                 ofHost("have more rights on its host than containers have"),
	"cgroup":                  ofHost("see the cgroups of its host"),
	"cgroup_parent":           ofHost("stand in a cgroup that has not its planned limits"),
	"cpu_count":               {"only Windows has it", "write cpus"},
	"cpu_percent":             {"only Windows has it", "write cpus"},
	"cpu_period":              {"one limit of processors is read back", "write cpus, quota divided by period"},
	"cpu_quota":               {"one limit of processors is read back", "write cpus, quota divided by period"},
	"cpu_rt_period":           ofHost("take processors from all else on its host"),
	"cpu_rt_runtime":          ofHost("take processors from all else on its host"),
	"cpuset":                  {"it names processors of one host; a plan knows how many, not which", "write cpus"},
	"credential_spec":         {why: "only Windows has it"},
	"device_cgroup_rules":     ofHost("open devices of its host"),
	"devices":                 ofHost("open a device of its host"),
	"dns":                     {"the engine resolves the names of services", "set it in the engine's daemon.json"},
	"dns_opt":                 {"the engine resolves the names of services", "set it in the engine's daemon.json"},
	"dns_search":              {"the engine resolves the names of services", "set it in the engine's daemon.json"},
	"domainname":              {"services find each other by their names", "write the full name as hostname"},
	"driver_opts":             ofHost("be a path or an interface of its host"),
	"extends":                 {"it names another file", otherFiles.remedy},
	"external_links":          {why: "it would reach containers of another project"},
	"gpus":                    ofHost("open a device of its host"),
	"group_add":               {"its groups are its image's", "write user: USER:GROUP"},
	"include":                 otherFiles,
	"interface_name":          {why: "the engine names interfaces"},
	"ipam":                    fixedAddress,
	"ipc":                     ofHost("share memory with its host, or with another container"),
	"ipv4_address":            fixedAddress,
	"ipv6_address":            fixedAddress,
	"enable_ipv4":             fixedAddress,
	"enable_ipv6":             fixedAddress,
	"isolation":               {why: "only Windows has it"},
	"label_file":              otherFiles,
	"link_local_ips":          fixedAddress,
	"mac_address":             fixedAddress,
	"mem_swappiness":          {why: "cgroups of version 2 do not have it"},
	"models":                  {why: "apply runs containers alone"},
	"network external":        {"it is not of this project, and another engine does not have it", "leave external out"},
	"oom_kill_disable":        ofHost("bring its host to a halt where memory is short"),
	"oom_score_adj":           ofHost("have the kernel end others in its place where memory is short"),
	"pid":                     ofHost("see processes of its host, or of another container"),
	"placement":               {"the plan chooses engines", "demands are labels: plimsoll.on, plimsoll.apart"},
	"post_start":              {"a hook may have more rights than its container", "have the image's entrypoint do it"},
	"pre_start":               {"a hook may have more rights than its container", "have the image's entrypoint do it"},
	"pre_stop":                {"a hook may have more rights than its container", "have the image's entrypoint do it"},
	"privileged":              ofHost("have all rights of root on its host"),
	"provider":                {why: "it runs a program of this host"},
	"runtime":                 ofHost("be run by another program of its host"),
	"storage_opt":             {"only some drivers limit the writable layer", "write data into a volume"},
	"template_driver":         {why: "Swarm reads it"},
	"use_api_socket":          ofHost("be root of its host"),
	"userns_mode":             ofHost("be root of its host"),
	"uts":                     ofHost("have the name of its host"),
	"volume external":         {"it is not of this project: it would be read and written", "leave external out"},
	"volume name":             {"it may be another project's: it would be read and written", "leave name out"},
	"volume_driver":           ofHost("have volumes of another kind than the plan knows"),
	"volumes_from":            {why: "it would have another container's paths", remedy: "name one volume in both"},
	"secret or config driver": {why: "Swarm reads it"},
	"secret or config external": {"it is in a Swarm, which engines of a plan need not be of",
		"write file: or environment:"},
}

// keyReport collects keys that are refused or left out: one entry for each kind of mapping and key, with all who have
// it.
type keyReport struct {
	refused, leftOut map[[2]string]*keyUse
}

// keyUse is where a key stands.
type keyUse struct {
	line  int // of the first
	users []string
}

// check sorts the keys of a mapping, and removes those that are refused. kind names the mapping, user the service or
// volume that has it; node is its place in the file, nil for none.
func (r *keyReport) check(kind, user string, keys map[string]any, node *yaml.Node, known keySet) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(known.taken, key) || strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "#") {
			continue
		}
		uses := &r.refused
		if known.leftOut[key] != "" && (key != "build" || keys["image"] != nil) {
			uses = &r.leftOut
		}
		if key != "build" { // without it the library misses an image
			delete(keys, key)
		}
		if *uses == nil {
			*uses = map[[2]string]*keyUse{}
		}
		use := (*uses)[[2]string{kind, key}]
		if use == nil {
			use = &keyUse{line: lineOf(node, key)}
			(*uses)[[2]string{kind, key}] = use
		}
		use.users = append(use.users, user)
	}
}

// problems returns what is refused.
func (r *keyReport) problems() (found problem.List) {
	for place, use := range r.refused {
		kind, key := place[0], place[1]
		why, special := refusals[kind+" "+key]
		if !special {
			why = refusals[key]
		}
		if why.remedy == "" {
			why.remedy = "leave it out"
		}
		found = append(found, problem.Problem{Kind: problem.Invalid, At: problem.Position{Line: use.line}, Why: why.why,
			What: strconv.Quote(key) + named(kind, use.users) + " cannot be applied", Remedy: why.remedy})
	}
	slices.SortFunc(found, func(a, b problem.Problem) int { return strings.Compare(a.What, b.What) })
	return found
}

// notes returns what is left out, and why.
func (r *keyReport) notes() (notes []string) {
	for place, use := range r.leftOut {
		notes = append(notes, place[1]+named(place[0], use.users)+" is left out: "+keySets[place[0]].leftOut[place[1]])
	}
	slices.Sort(notes)
	return notes
}

// mostNamed is how many services a sentence names.
const mostNamed = 6

// named returns " of service a" or " of service a, b and 3 more"; "" for no names.
func named(kind string, users []string) string {
	if len(users) == 0 || users[0] == "" {
		return ""
	}
	return " of " + kind + " " + listed(users)
}

// listed returns "a, b and c", with a count of those that are too many.
func listed(names []string) string {
	if len(names) > mostNamed {
		names = append(slices.Clone(names[:mostNamed]), fmt.Sprintf("%d more", len(names)-mostNamed))
	}
	return plural.And(names)
}

// valueOf returns the value of a mapping's key; nil for none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// entriesOf returns the values of a mapping by their keys.
func entriesOf(n *yaml.Node) map[string]*yaml.Node {
	entries := map[string]*yaml.Node{}
	if n == nil || n.Kind != yaml.MappingNode {
		return entries
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		entries[n.Content[i].Value] = n.Content[i+1]
	}
	return entries
}

// lineOf returns the line of a mapping's key, or of the mapping where the key stands elsewhere; 0 for neither.
func lineOf(n *yaml.Node, key string) int {
	if n == nil {
		return 0
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i].Line
		}
	}
	return n.Line
}
