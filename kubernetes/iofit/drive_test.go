package iofit

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	listersv1 "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"plimsoll/internal/testkit/modeltest"
)

const someDrives = `nvme: {paths: /mnt/nvme, volume-groups: [fast-vg]}
sata:
  paths: [/mnt, /dev/sdb/]
  volume-groups: [slow-vg, data]
  device-classes: [hdd]
  storage-classes: [local-slow]`

// theClaims are claims of the namespace "", with what they are bound to, and classes.
func theClaims(t testing.TB, all ...runtime.Object) Claims {
	t.Helper()
	by := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	indexer := func() clientcache.Indexer { return clientcache.NewIndexer(clientcache.MetaNamespaceKeyFunc, by) }
	claims, volumes, classes, attributes := indexer(), indexer(), indexer(), indexer()
	for _, o := range all {
		into := classes
		switch o.(type) {
		case *corev1.PersistentVolumeClaim:
			into = claims
		case *corev1.PersistentVolume:
			into = volumes
		case *storagev1.VolumeAttributesClass:
			into = attributes
		}
		if err := into.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return Claims{listersv1.NewPersistentVolumeClaimLister(claims), listersv1.NewPersistentVolumeLister(volumes),
		storagelisters.NewStorageClassLister(classes), storagelisters.NewVolumeAttributesClassLister(attributes)}
}

func aClaim(name, class, volume string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: volume}}
}

func aVolume(name, class string, of corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{StorageClassName: class, PersistentVolumeSource: of}}
}

func aLocal(path string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}}
}

func aCSI(driver string, attributes ...string) corev1.PersistentVolumeSource {
	csi := &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeAttributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		csi.VolumeAttributes[attributes[i]] = attributes[i+1]
	}
	return corev1.PersistentVolumeSource{CSI: csi}
}

// mounting returns a pod with claims.
func mounting(pod *corev1.Pod, claims ...string) *corev1.Pod {
	for _, name := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	return pod
}

func withDrivesFile(t testing.TB, drives string) *Kind {
	t.Helper()
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	c, err := ConfigMap("big", file.Bytes(), bigHost, drives)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKind(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// demandOn returns the demand of a pod that has one drive.
func demandOn(k *Kind, node *corev1.Node, d *Demand, volumes []Volume, held bool) (*Demand, string) {
	at := k.demandsOn(node, d, volumes, held)
	return at.placed[0], at.note
}

// A pod counts on the drive that its claim stands on, whichever way Kubernetes says that.
func TestDriveOfAClaim(t *testing.T) {
	const openEBS, topoLVM = "local.csi.openebs.io", "topolvm.io"
	class := func(name, provisioner, key, value string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner,
			Parameters: map[string]string{key: value}}
	}
	claims := theClaims(
		t,
		class("lvm", openEBS, "volgroup", "data"),
		class("topo", topoLVM, topoLVM+"/device-class", "hdd"),
		class("other", "ebs.csi.aws.com", "volgroup", "data"),
		aClaim("local", "", "local"),
		aVolume("local", "", aLocal("/mnt/sata0/vol1")),
		aClaim("nested", "local-slow", "nested"),
		aVolume("nested", "local-slow", aLocal("/mnt/nvme/vol1/")),
		aClaim("alike", "", "alike"),
		aVolume("alike", "", aLocal("/mnt/nvme2")),
		aClaim("block", "", "block"),
		aVolume("block", "", aLocal("/dev/sdb")),
		aClaim("dots", "", "dots"),
		aVolume("dots", "", aLocal("/mnt/nvme/../../srv")),
		aClaim("host", "", "host"),
		aVolume("host", "",
			corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt/x"}}),
		aClaim("group", "", "group"),
		aVolume("group", "lvm", aCSI(openEBS, "openebs.io/volgroup", "fast-vg")),
		aClaim("by-class", "", "by-class"),
		aVolume("by-class", "topo", aCSI(topoLVM)),
		aClaim("elsewhere", "local-slow", "elsewhere"),
		aVolume("elsewhere", "local-slow", aLocal("/srv")),
		aClaim("other", "other", "other"),
		aVolume("other", "other", aCSI("ebs.csi.aws.com", "openebs.io/volgroup", "data")),
		aClaim("unbound", "local-slow", ""),
		aClaim("unbound-lvm", "lvm", ""),
		aClaim("unbound-topo", "topo", ""),
		aClaim("unseen", "local-slow", "unseen"),
		aClaim("classless", "", ""),
	)
	k := withDrivesFile(t, someDrives)
	for claim, want := range map[string]string{"local": "sata", "nested": "nvme", "alike": "sata", "block": "sata",
		"dots": "", "host": "sata", "group": "nvme", "by-class": "sata", "elsewhere": "sata", "other": "", "unbound": "sata",
		"unbound-lvm": "sata", "unbound-topo": "sata", "unseen": "sata", "classless": "", "missing": ""} {
		pod := mounting(aPod("class", "writes"), claim)
		volumes, settled := claims.Of(pod)
		d, note := demandOn(k, &corev1.Node{}, aDemand(t, "class", "writes"), volumes, false)
		if d.Drive != want || (note == "") != (want != "") {
			t.Errorf("%s: it counts on %q, not %q: %s", claim, d.Drive, want, note)
		}
		if bound := !strings.HasPrefix(claim, "un") && claim != "classless" && claim != "missing"; settled != bound {
			t.Errorf("%s: it is settled: %t", claim, settled)
		}
		if want == "" && !strings.Contains(note, "claim "+claim) || want == "" && !strings.Contains(note, "the first, nvme") {
			t.Errorf("%s: %q", claim, note)
		}
		onWant := k.JudgeOn(&corev1.Node{}, Standing{}, aDemand(t, "class", "writes"), volumes)
		same := k.Judge(Standing{}, aDemand(t, "class", "writes", "drive", want))
		if onWant.Rate != same.Rate || onWant.Drive == "" {
			t.Errorf("%s: %+v, and on the drive %+v", claim, onWant, same)
		}
	}
}

// The volumes of a pod say on which drive it is, before its annotation; of several, the annotation chooses.
func TestDriveOfAPod(t *testing.T) {
	claims := theClaims(t, aClaim("data", "local-slow", ""), aClaim("log", "", "log"),
		aVolume("log", "", aLocal("/mnt/nvme/log")), aClaim("web", "ebs", ""), aClaim("p-scratch", "local-slow", ""))
	path := func(path string) corev1.Volume {
		return corev1.Volume{Name: "path", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: path}}}
	}
	k := withDrivesFile(t, someDrives)
	for _, c := range []struct {
		annotated string
		claims    []string
		more      []corev1.Volume
		want      string
		note      string
	}{
		{claims: []string{"data"}, want: "sata"},
		{annotated: "nvme", claims: []string{"data", "log"}, want: "nvme"},
		{annotated: "nvme", claims: []string{"data"}, want: "sata", note: "its annotation says nvme"},
		{annotated: "floppy", claims: []string{"data"}, want: "sata", note: "its annotation says floppy"},
		{annotated: "sata", claims: []string{"web"}, want: "sata", note: "as its annotation says"},
		{claims: []string{"web", "data"}, want: "sata", note: "claim web is (StorageClass ebs)"},
		{more: []corev1.Volume{path("/etc/localtime")}},
		{more: []corev1.Volume{path("/etc/localtime"), path("/mnt/nvme/x")}, want: "nvme"},
		{more: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{}}}, {Name: "empty"}}, want: "sata"},
	} {
		pod := mounting(aPod("class", "writes", "drive", c.annotated), c.claims...)
		pod.Name, pod.Spec.Volumes = "p", append(pod.Spec.Volumes, c.more...)
		asked, err := DemandOf(pod)
		if err != nil {
			t.Fatal(err)
		}
		volumes, _ := claims.Of(pod)
		d, note := demandOn(k, &corev1.Node{}, asked, volumes, false)
		if d.Drive != c.want || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%q with %v and %d others: it counts on %q: %q", c.annotated, c.claims, len(c.more), d.Drive, note)
		}
		if again, _ := demandOn(k, &corev1.Node{}, asked, volumes, false); again != d {
			t.Errorf("%v: the same is made twice", c.claims)
		}
	}
	// What is said of it is said where it fits, where it does not, and where nobody knows.
	volumes, _ := claims.Of(mounting(aPod(), "web"))
	for _, d := range []*Demand{aDemand(t, "class", "writes"),
		aDemand(t, "class", "writes", "least-throughput", "900000/s"), aDemand(t, "class", "nobody")} {
		v := k.JudgeOn(&corev1.Node{}, Standing{}, d, volumes)
		if n := strings.Count(v.String()+v.Broken+v.Unknown, "StorageClass ebs"); n != 1 {
			t.Errorf("it is said %d times: %+v", n, v)
		}
	}
}

// Pods that stand on a node weigh on their own drives alone.
func TestPodsOnTwoDrives(t *testing.T) {
	claims := theClaims(t, aClaim("slow", "local-slow", ""), aClaim("fast", "", "fast"),
		aVolume("fast", "", aLocal("/mnt/nvme/1")))
	k, all := withDrivesFile(t, someDrives), func(string) bool { return true }
	d := aDemand(t, "class", "writes")
	beside := func(claim, others string) Verdict {
		pods := slices.Repeat([]*corev1.Pod{mounting(aPod("class", "writes"), others)}, 6)
		there := OnNode(&corev1.Node{}, k, slices.Values(pods), claims, all)
		if there.Settled != (others == "fast") {
			t.Errorf("%s: settled is %t", others, there.Settled)
		}
		volumes, _ := claims.Of(mounting(aPod(), claim))
		return k.JudgeOn(&corev1.Node{}, there, d, volumes)
	}
	for _, c := range [][2]string{{"slow", "fast"}, {"fast", "slow"}} {
		shared, apart := beside(c[0], c[0]), beside(c[0], c[1])
		if shared.Gain >= apart.Gain {
			t.Errorf("on %s, six others weigh as much on the other drive: %+v and %+v", c[0], shared, apart)
		}
	}
	if fast, slow := beside("fast", "slow"), beside("slow", "slow"); fast.Drive != "nvme" || slow.Drive != "sata" {
		t.Errorf("%+v and %+v", fast, slow)
	}
}

// A node may have on its drives what others of its kind have not, and says so itself.
func TestDrivesOfANode(t *testing.T) {
	k := withDrivesFile(t, someDrives)
	claims := theClaims(t, aClaim("data", "", "data"), aVolume("data", "", aLocal("/mnt/disks/1234/vol")),
		aClaim("slow", "local-slow", ""))
	on := func(claim, says string) (string, string) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{DrivesAnnotation: says}}}
		volumes, _ := claims.Of(mounting(aPod(), claim))
		d, note := demandOn(k, node, aDemand(t, "class", "writes"), volumes, false)
		return d.Drive, note
	}
	for _, c := range [][3]string{{"data", "", "sata"}, {"data", "nvme: {paths: /mnt/disks/1234}", "nvme"},
		{"data", "{nvme: {paths: /mnt}}", "nvme"}, {"slow", "{nvme: {paths: /mnt}}", "sata"},
		{"slow", "{nvme: {storage-classes: local-slow}}", "nvme"}} {
		if drive, note := on(c[0], c[1]); drive != c[2] || note != "" {
			t.Errorf("%v: %s, %s", c, drive, note)
		}
	}
	for _, wrong := range []string{"floppy: {paths: /mnt/disks}", "nvme", strings.Repeat("x", 100_000),
		"{nvme: {" + strings.Repeat("y", 3000) + ": z}}"} {
		drive, note := on("data", wrong)
		if drive != "sata" || !strings.Contains(note, DrivesAnnotation) || len(note) > 500 {
			t.Errorf("%.20s: %s, %s", wrong, drive, note)
		}
	}
}

// All that is wrong with a file of drives is said at once.
func TestWrongDrives(t *testing.T) {
	var file bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	_, err := ConfigMap("big", file.Bytes(), bigHost, `nvmee: {paths: /mnt/nvme}
nvme: {paths: [mnt, 3, {a: b}], storage-class: x, volume-groups: vg}
sata: {volume-groups: [vg, ""], paths: /mnt/nvme/}`)
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, wrong := range []string{"ConfigMap /model-big", "drives.yaml", `no drive "nvmee"`, "nvme and sata",
		"mnt does not begin", "3 does not begin", "not keys and values", `"storage-class"`,
		"vg is on drive nvme already", `not ""`, "/mnt/nvme/ is on drive nvmee already"} {
		if !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q is not in:\n%v", wrong, err)
		}
	}
	if _, err := ConfigMap("big", file.Bytes(), "{drives: {}}", "nvme: {paths: /mnt}"); err == nil ||
		!strings.Contains(err.Error(), "nor any other") {
		t.Error(err)
	}
}

// What dies with a pod is on the drive below the kubelet's directory: data of a claim says more of the pod.
func TestScratchSpaceIsOnTheKubeletsDrive(t *testing.T) {
	k := withDrivesFile(t, someDrives)
	node := &corev1.Node{}
	node.Annotations = map[string]string{DrivesAnnotation: "sata: {paths: /var/lib/kubelet}"}
	claims := theClaims(t, aClaim("fast", "", "fast"), aVolume("fast", "", aLocal("/mnt/nvme/1")))
	scratch := corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	memory := corev1.Volume{Name: "shm", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}
	for _, c := range []struct {
		claims []string
		more   []corev1.Volume
		want   string
	}{{nil, []corev1.Volume{scratch}, "sata"}, {nil, nil, "sata"}, {[]string{"fast"}, []corev1.Volume{scratch}, "nvme"},
		{[]string{"fast"}, []corev1.Volume{memory}, "nvme"}} {
		pod := mounting(aPod("class", "writes"), c.claims...)
		pod.Spec.Volumes = append(c.more, pod.Spec.Volumes...)
		d, err := DemandOf(pod)
		if err != nil {
			t.Fatal(err)
		}
		volumes, _ := claims.Of(pod)
		if at, _ := demandOn(k, node, d, volumes, false); at.Drive != c.want {
			t.Errorf("claims %v and %d other volumes: it counts on %q, not on %s", c.claims, len(c.more), at.Drive, c.want)
		}
	}
}

// A claim of a class on several drives counts on the one with most room until it is bound, and nodes score by that.
func TestClassOnSeveralDrives(t *testing.T) {
	const drives = "nvme: {storage-classes: [local], paths: /mnt/nvme}\nsata: {storage-classes: [local], paths: /mnt/sata}"
	k, node := withDrivesFile(t, drives), &corev1.Node{}
	claims := theClaims(t, aClaim("new", "local", ""), aClaim("bound", "local", "bound"),
		aVolume("bound", "local", aLocal("/mnt/sata/1")))
	k.Host.Drives[1].Is = k.Host.Drives[0].Is // so that what stands there decides
	judged := func(claim, annotated string, there Standing, limits ...string) Verdict {
		pod := mounting(aPod(append(limits, "class", "writes", "drive", annotated)...), claim)
		d, err := DemandOf(pod)
		if err != nil {
			t.Fatal(err)
		}
		volumes, _ := claims.Of(pod)
		return k.JudgeOn(node, there, d, volumes)
	}
	onNode := func(names ...string) Standing {
		var pods []*corev1.Pod
		for _, claim := range names {
			pods = append(pods, mounting(aPod("class", "writes"), claim))
		}
		return OnNode(node, k, slices.Values(pods), claims, all)
	}
	empty, halfFull := onNode(), onNode("bound", "bound", "bound")
	if v := judged("new", "", halfFull); v.Drive != "nvme" || v.Note != "" {
		t.Errorf("beside three on sata it counts on %q: %+v", v.Drive, v)
	}
	if v := judged("bound", "", empty); v.Drive != "sata" {
		t.Errorf("bound, it counts on %q", v.Drive)
	}
	if v := judged("new", "sata", halfFull); v.Drive != "sata" {
		t.Errorf("its annotation chooses, and it counts on %q", v.Drive)
	}
	// Nodes score by the drive that it would have: one with room on another is better than one that is full.
	if room, full := judged("new", "", halfFull), judged("bound", "", halfFull); !(room.Gain > full.Gain) {
		t.Errorf("%+v and %+v", room, full)
	}
	// Of those that are not bound yet, each counts where the next has most room: in turn.
	counts := map[string]int{}
	four := onNode("new", "new", "new", "new")
	for _, d := range four.demands {
		counts[d.Drive]++
	}
	if counts["nvme"] != 2 || counts["sata"] != 2 || four.Settled {
		t.Errorf("%v, settled %t", counts, four.Settled)
	}
	if again := onNode("new", "new", "new", "new"); again.key != four.key {
		t.Error("the same pods are on other drives the second time")
	}
	// A drive on which a limit would break is no room, although more is gained there.
	k = withDrivesFile(t, drives)
	k.Host.Drives[1].Is.Write.IOPS /= 100
	limit := two(0.95*k.Judge(Standing{}, aDemand(t, "class", "writes", "drive", "nvme")).Rate) + "/s"
	beside := Stand([]*Demand{aDemand(t, "class", "writes", "drive", "nvme", "least-throughput", limit)})
	nvme, sata := k.Judge(beside, aDemand(t, "class", "writes", "drive", "nvme")), judged("new", "sata", beside)
	if v := judged("new", "", beside); v.Drive != "sata" || v.Broken != "" || nvme.Broken == "" || sata.Gain > nvme.Gain {
		t.Errorf("it counts on %q: %+v, on nvme %+v", v.Drive, v, nvme)
	}
}

// Volumes of the network are on none of a node's drives: these keep their room, and nobody knows what the pod does.
func TestNetworkStorage(t *testing.T) {
	k := withDrivesFile(t, someDrives+"\nnone: {storage-classes: [ceph], paths: [/mnt/nfs]}")
	node := aNode()
	node.Annotations = map[string]string{DrivesAnnotation: "sata: {paths: /var/lib/kubelet}"}
	claims := theClaims(t, aClaim("db", "ceph", ""), aClaim("bound", "", "bound"), aVolume("bound", "ceph",
		aCSI("rbd.csi.ceph.com")), aClaim("slow", "local-slow", ""))
	d := aDemand(t, "class", "writes", "drive", "nvme", "least-throughput", "1/s")
	scratch := corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	nfs := corev1.Volume{Name: "nfs", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/mnt/nfs/x"}}}
	with := func(claim string, more ...corev1.Volume) *corev1.Pod {
		pod := mounting(aPod("class", "writes"), claim)
		pod.UID, pod.Spec.Volumes = "p", append(pod.Spec.Volumes, more...)
		return pod
	}
	for _, pod := range []*corev1.Pod{with("db"), with("bound"), with("db", scratch), with("bound", nfs)} {
		volumes, _ := claims.Of(pod)
		v := k.JudgeOn(node, Standing{}, d, volumes)
		if v.Unknown == "" || !v.Always || v.Broken != "" || v.Drive != "" || !k.OffDrives(node, d, volumes) {
			t.Errorf("%v: %+v", pod.Spec.Volumes, v)
		}
		busy := OnNode(node, k, slices.Values(slices.Repeat([]*corev1.Pod{pod}, 6)), claims, all)
		if free := OnNode(node, k, slices.Values([]*corev1.Pod(nil)), claims, all); busy.key != free.key {
			t.Errorf("%v takes room on drives", pod.Spec.Volumes)
		}
	}
	volumes, _ := claims.Of(with("db"))
	// What else a pod has on a drive, it has there.
	if on, _ := demandOn(k, node, d, append(volumes, Volume{name: "slow", on: []basis{{classesKey, "local-slow"}}}),
		false); on.Drive != "sata" {
		t.Errorf("%+v", on)
	}
	if at, known := k.DriveOn(node, d, volumes); known || at != 0 || k.DriveOfPath(node, "/mnt/nfs/x") != "" {
		t.Errorf("a plan has it on drive %d", at)
	}
	// It may not be both, and no drive may be it.
	for _, wrong := range []string{"nvme: {storage-classes: x}\nnone: {storage-classes: x}",
		"none: {paths: /mnt}\nsata: {paths: /mnt}", "sata: {storage-classes: [x, x]}", "none: {drive: x}"} {
		if _, err := parseBases(wrong, drivesKey, k.Host.Drives); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
