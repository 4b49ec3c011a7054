package iofit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// someClaims are a WAL on nvme, data on sata, and others.
func someClaims(t *testing.T) Claims {
	return theClaims(t, aClaim("data", "local-slow", ""), aClaim("wal", "", "wal"),
		aVolume("wal", "", aLocal("/mnt/nvme/wal")), aClaim("log", "", "log"), aVolume("log", "", aLocal("/mnt/nvme/log")),
		aClaim("ceph", "ceph", ""), aClaim("web", "ebs", ""))
}

const (
	twoDrives = someDrives + "\nnone: {storage-classes: [ceph]}"
	aSplit    = "wal: {writes: 60%}, data: {reads: 100%, writes: 40%}"
)

// splitDemand returns the demand of a pod with a split, and its volumes.
func splitDemand(t *testing.T, claims Claims, split string, mounted []string, more ...string) (*Demand, []Volume) {
	t.Helper()
	pod := mounting(aPod(append(more, "class", "writes", "split", split)...), mounted...)
	d, err := DemandOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	volumes, _ := claims.Of(pod)
	return d, volumes
}

// Each share of a pod's I/O counts on the drive of its volume.
func TestSplitOverDrives(t *testing.T) {
	k, node, claims := withDrivesFile(t, twoDrives), &corev1.Node{}, someClaims(t)
	for _, c := range []struct {
		split, drive string
		claims       []string
		want, note   string
	}{
		{split: aSplit, claims: []string{"wal", "data"}, want: "[{nvme 0 0.6} {sata 1 0.4}]"},
		{split: "data: 70%, wal: 30%", claims: []string{"data", "wal"}, want: "[{nvme 0.3 0.3} {sata 0.7 0.7}]"},
		{split: "{wal: 1/4, log: 0.75}", claims: []string{"log", "wal"}, want: "nvme"},
		{split: "data: 100%", claims: []string{"data", "wal"}, want: "sata"}, // the other does nothing
		{split: "wal: 30%, ceph: 70%", claims: []string{"wal", "ceph"}, want: "[{nvme 0.3 0.3}]",
			note: "volume ceph is on storage of the network"},
		{split: "wal: 30%, web: 70%", claims: []string{"wal", "web"}, want: "nvme", note: "claim web is (StorageClass ebs)"},
		{split: "wal: 30%, web: 70%", drive: "sata", claims: []string{"wal", "web"}, want: "[{nvme 0.3 0.3} {sata 0.7 0.7}]",
			note: "its share counts on sata"},
	} {
		d, volumes := splitDemand(t, claims, c.split, c.claims, "drive", c.drive)
		at := k.demandsOn(node, d, volumes, false)
		if len(at.placed) != 1 || at.unknown != "" || !strings.Contains(at.note, c.note) ||
			(at.note == "") != (c.note == "") {
			t.Fatalf("%q: %+v", c.split, at)
		}
		got := at.placed[0].Drive
		if got == "" {
			got = fmt.Sprint(at.placed[0].Parts)
		}
		if got != c.want {
			t.Errorf("%q counts on %s, not on %s", c.split, got, c.want)
		}
		if again := k.demandsOn(node, d, volumes, false); again.placed[0] != at.placed[0] {
			t.Errorf("%q: the same is made twice", c.split)
		}
	}
	off, volumes := splitDemand(t, claims, "ceph: 100%", []string{"ceph"})
	if !k.OffDrives(node, off, volumes) {
		t.Error("all of it on the network is on a drive")
	}
	d, volumes := splitDemand(t, claims, aSplit, []string{"wal", "data"})
	if v := k.JudgeOn(node, Standing{}, d, volumes); v.Drive != "nvme and sata" || v.Prediction().Drive != v.Drive {
		t.Errorf("%+v", v)
	}
	if at, known := k.DriveOn(node, d, volumes); !known || at != k.driveNumber("sata") {
		t.Errorf("most is on drive %d", at)
	}
	if same, _ := splitDemand(t, claims, "wal: 50%, data: 50%", []string{"wal", "data"}); same.Sign() == d.Sign() {
		t.Error("two splits are alike to the scheduler")
	}
	admitted := Admission(map[string]string{ClassAnnotation: "writes", SplitAnnotation: aSplit})
	if !strings.Contains(admitted, "60%") {
		t.Errorf("the split does not count once the pod is bound: %s", admitted)
	}
}

// A node carries a pod on two drives only if both have room, and the pod weighs on either with its share alone.
func TestBothDrivesBind(t *testing.T) {
	k, node, claims := withDrivesFile(t, twoDrives), &corev1.Node{}, someClaims(t)
	k.Host.Drives[1].Is = k.Host.Drives[0].Is
	alone := k.Judge(Standing{}, aDemand(t, "class", "writes", "drive", "nvme")).Rate
	least := fmt.Sprintf("%.0f/s", 0.9*alone)
	d, volumes := splitDemand(t, claims, "wal: 50%, data: 50%", []string{"wal", "data"}, "least-throughput", least)
	if v := k.JudgeOn(node, Standing{}, d, volumes); v.Broken != "" || v.Unknown != "" || v.Rate < 0.99*alone {
		t.Fatalf("on an empty node: %+v", v)
	}
	full := func(drives ...string) Standing {
		var demands []*Demand
		for _, drive := range drives {
			demands = append(demands, slices.Repeat([]*Demand{aDemand(t, "class", "writes", "drive", drive)}, 40)...)
		}
		return Stand(demands)
	}
	for _, busy := range [][]string{{"nvme"}, {"sata"}, {"nvme", "sata"}} {
		if v := k.JudgeOn(node, full(busy...), d, volumes); v.Broken == "" || !v.Own {
			t.Errorf("with %v full: %+v", busy, v)
		}
	}
	one, on := splitDemand(t, claims, "wal: 0%, data: 100%", []string{"wal", "data"}, "least-throughput", least)
	if v := k.JudgeOn(node, full("nvme"), one, on); v.Broken != "" {
		t.Errorf("all of it on sata, with nvme full: %+v", v)
	}
	// What it takes of a drive is its share: neighbours lose less than beside one with all of it there.
	victim := aDemand(t, "class", "writes", "drive", "nvme")
	rate := func(split string) float64 {
		pods := slices.Repeat([]*corev1.Pod{mounting(aPod("class", "writes", "split", split), "wal", "data")}, 20)
		return k.Judge(OnNode(node, k, slices.Values(pods), claims, all), victim).Rate
	}
	none, half, whole := rate("wal: 0%, data: 100%"), rate("wal: 50%, data: 50%"), rate("wal: 100%, data: 0%")
	if !(none > half && half > whole) {
		t.Errorf("beside pods with none, half and all of their I/O on its drive, it does %g, %g and %g", none, half, whole)
	}
}

// A pod on several drives that does not say how its I/O is split is not predicted, and where it stands, it counts on
// each of them.
func TestPodThatDoesNotSaySplit(t *testing.T) {
	k, node, claims := withDrivesFile(t, twoDrives), &corev1.Node{}, someClaims(t)
	for _, drive := range []string{"", "floppy"} {
		d, volumes := splitDemand(t, claims, "", []string{"data", "wal"}, "drive", drive)
		v := k.JudgeOn(node, Standing{}, d, volumes)
		for _, word := range []string{"on sata and nvme", SplitAnnotation, "wal: 30%", DriveAnnotation} {
			if !strings.Contains(v.Unknown, word) || !v.Always || v.Broken != "" {
				t.Errorf("%q: %+v", word, v)
			}
		}
		limited := Stand([]*Demand{aDemand(t, "class", "writes", "drive", "nvme", "least-throughput", "1/s")})
		if v := k.JudgeOn(node, limited, d, volumes); v.Limit != "unknown" {
			t.Errorf("beside a pod with a limit: %+v", v)
		}
		pod := mounting(aPod("class", "writes", "drive", drive), "data", "wal")
		stand := OnNode(node, k, slices.Values([]*corev1.Pod{pod}), claims, all)
		if got := fmt.Sprint(stand.demands[0].Parts); got != "[{nvme 1 1} {sata 1 1}]" {
			t.Errorf("it stands as %s", got)
		}
	}
	scratch := mounting(aPod("class", "writes"), "wal")
	scratch.Spec.Volumes = append(scratch.Spec.Volumes, corev1.Volume{Name: "tmp",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	onRoot := &corev1.Node{}
	onRoot.Annotations = map[string]string{DrivesAnnotation: "sata: {paths: /var/lib/kubelet}"}
	volumes, _ := claims.Of(scratch)
	if at := k.demandsOn(onRoot, aDemand(t, "class", "writes"), volumes, false); at.unknown != "" ||
		at.placed[0].Drive != "nvme" {
		t.Errorf("with scratch space on another drive: %+v", at)
	}
	said := mounting(aPod("class", "writes", "split", "tmp: 40%, wal: 60%"), "wal")
	said.Spec.Volumes = append(said.Spec.Volumes, scratch.Spec.Volumes[1])
	d, err := DemandOf(said)
	if err != nil {
		t.Fatal(err)
	}
	volumes, _ = claims.Of(said)
	if at := k.demandsOn(onRoot, d, volumes, false); fmt.Sprint(at.placed[0].Parts) != "[{nvme 0.6 0.6} {sata 0.4 0.4}]" {
		t.Errorf("it says what its scratch space does: %+v", at)
	}
}

// Claims that are not bound may be on any drive of their class: the way with most room counts, and alike ways once.
func TestSplitOfUnboundClaims(t *testing.T) {
	const drives = "nvme: {storage-classes: [local]}\nsata: {storage-classes: [local]}"
	k, node := withDrivesFile(t, drives), &corev1.Node{}
	k.Host.Drives[1].Is = k.Host.Drives[0].Is
	claims := theClaims(t, aClaim("a", "local", ""), aClaim("b", "local", ""))
	d, volumes := splitDemand(t, claims, "a: 50%, b: 50%", []string{"a", "b"})
	if at := k.demandsOn(node, d, volumes, false); len(at.placed) != 3 || at.unknown != "" {
		t.Errorf("two alike on two drives: %+v", at)
	}
	d, volumes = splitDemand(t, claims, "a: 90%, b: 10%", []string{"a", "b"})
	busy := Stand(slices.Repeat([]*Demand{aDemand(t, "class", "writes", "drive", "nvme")}, 12))
	placed, _ := k.roomiest(busy, k.demandsOn(node, d, volumes, false).placed)
	if placed.Drive != "sata" && (len(placed.Parts) != 2 || placed.Parts[1].Reads < 0.9) {
		t.Errorf("beside 12 on nvme, it counts on %+v", placed)
	}
	var names, shares []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("v%d", i))
		shares = append(shares, fmt.Sprintf("v%d: %d/78", i, i+1))
	}
	var objects []runtime.Object
	for _, name := range names {
		objects = append(objects, aClaim(name, "local", ""))
	}
	d, volumes = splitDemand(t, theClaims(t, objects...), strings.Join(shares, ", "), names)
	if v := k.JudgeOn(node, Standing{}, d, volumes); !strings.Contains(v.Unknown, "bind them first") {
		t.Errorf("4,096 ways: %+v", v)
	}
}

// Wrong splits are refused with all that is wrong, whoever wrote them.
func TestWrongSplits(t *testing.T) {
	for split, want := range map[string]string{
		"wal: 30%, data: 60%":                     "the shares of reads are 90% together",
		"wal: 30%, data: 80%":                     "the shares of writes are 110% together",
		"wal: {writes: 50%}, data: {writes: 50%}": "the shares of reads are 0% together",
		"wal: 30%, wal: 70%":                      "wal more than once",
		"wal: 30%, dat: 70%":                      `no volume "dat" that may be on a drive, and has wal and data (did you`,
		"wal: 30%, settings: 70%":                 `no volume "settings"`,
		"wal: 30%, shm: 70%":                      `no volume "shm"`,
		"wal: -10%, data: 110%":                   "from 0% to 100%",
		"wal: NaN, data: .inf":                    "a share",
		"wal: 30, data: 70":                       "write 30%",
		"wal=30%,data=70%":                        "write wal: 30%, data: 70%",
		"wal":                                     "not nothing",
		"[wal, data]":                             "",
		"wal: [30%], data: 70%":                   "a list",
		"wal: {write: 30%}, data: 70%":            `unknown key "write"`,
		"wal: null, data: 100%":                   "nothing",
		"":                                        "-",
		"{}":                                      "0% together",
		"? {a: b} : 100%":                         "",
		"&a wal: 50%, *a : 50%":                   "",
		"wal: 100%}\n---\n{data: 100%":            "",
		"wal: 100%} # {":                          "-",
		strings.Repeat("a", 2000):                 "at most 1000",
		"wal: " + strings.Repeat("9", 400) + "%":  "",
		"\x00: 100%":                              "",
		"wal: {reads: 100%, reads: 100%, writes: 1}": "more than once",
	} {
		pod := mounting(aPod("class", "writes", "split", split), "wal", "data")
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			corev1.Volume{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
			corev1.Volume{Name: "shm", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}})
		_, err := DemandOf(pod)
		if want == "-" {
			if err != nil {
				t.Errorf("%q: %v", split, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), SplitAnnotation) ||
			len(err.Error()) > 1500 {
			t.Errorf("%q: %.1500v", split, err)
		}
	}
	var many []string
	for i := range mostParts + 1 {
		many = append(many, fmt.Sprintf("v%d: 0%%", i))
	}
	if _, err := ParseSplit(strings.Join(many, ", ")); err == nil || !strings.Contains(err.Error(), "at most 16") {
		t.Error(err)
	}
}

// Whatever a split says, shares that are read are shares, and sum to all.
func FuzzParseSplit(f *testing.F) {
	for _, text := range []string{aSplit, "wal: 30%, data: 70%", "{a: 1/3, b: 2/3}", "a: {reads: 1, writes: 0}", "{"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := ParseSplit(text)
		if err != nil {
			return
		}
		reads, writes := 0.0, 0.0
		for i, p := range parts {
			if !(p.Reads >= 0 && p.Reads <= 1 && p.Writes >= 0 && p.Writes <= 1) || i > 0 && p.Name <= parts[i-1].Name {
				t.Fatalf("%q: %+v", text, parts)
			}
			reads, writes = reads+p.Reads, writes+p.Writes
		}
		if math.Abs(reads-1) > 1e-5 || math.Abs(writes-1) > 1e-5 {
			t.Fatalf("%q: %g of reads and %g of writes", text, reads, writes)
		}
	})
}
