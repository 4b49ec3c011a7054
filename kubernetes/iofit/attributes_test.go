package iofit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/result"
)

func anAttributesClass(name, driver string, parameters ...string) *storagev1.VolumeAttributesClass {
	c := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: name}, DriverName: driver,
		Parameters: map[string]string{}}
	for i := 0; i < len(parameters); i += 2 {
		c.Parameters[parameters[i]] = parameters[i+1]
	}
	return c
}

// Parameters are read as each driver has them, and others limit nothing.
func TestAttributesOfDrivers(t *testing.T) {
	rate := func(operations, bytes int64) result.Rate {
		return result.Rate{OperationsPerSecond: operations, BytesPerSecond: bytes}
	}
	for _, c := range []struct {
		class *storagev1.VolumeAttributesClass
		want  result.Limits
		err   string
	}{
		{anAttributesClass("x", "ebs.csi.aws.com", "type", "gp3", "iops", "3000", "throughput", "125",
			"tagSpecification_1", "a=b"), result.Limits{IO: rate(3000, 125<<20)}, ""},
		{anAttributesClass("x", "ebs.csi.aws.com", "IOPS", "3000"), result.Limits{IO: rate(3000, 0)}, ""},
		{anAttributesClass("x", "pd.csi.storage.gke.io", "iops", "7000", "throughput", "250Mi"),
			result.Limits{IO: rate(7000, 250<<20)}, ""},
		{anAttributesClass("x", "disk.csi.azure.com", "DiskIOPSReadWrite", "2000", "DiskMBpsReadWrite", "320"),
			result.Limits{IO: rate(2000, 320e6)}, ""},
		{anAttributesClass("x", "local.csi.openebs.io", "qosIopsReadLimit", "100", "qosIopsWriteLimit", "max",
			"qosBandwithWritePerSec", "5Mi"), result.Limits{Read: rate(100, 0), Write: rate(0, 5<<20)}, ""},
		{anAttributesClass("x", "other.example", "iops", "3000"), result.Limits{}, ""},
		{anAttributesClass("x", "ebs.csi.aws.com", "iops", "fast", "throughput", "-1"), result.Limits{},
			`iops: "fast", throughput: "-1"`},
		{anAttributesClass("x", "ebs.csi.aws.com", "iops", "0", "throughput", "9223372036854775807"), result.Limits{},
			"limit nothing"},
		{anAttributesClass("x", "ebs.csi.aws.com", "iops", strings.Repeat("9", 5000)), result.Limits{}, "x"},
		{anAttributesClass("x", "ebs.csi.aws.com", "iops", "200", "IOPS", "300"), result.Limits{IO: rate(200, 0)}, ""},
	} {
		l, err := limitsOf(c.class)
		if strings.Contains(c.err, "x") { // it may be rounded, or refused in short
			if l.IO.OperationsPerSecond < 0 || err != nil && len(err.Error()) > 300 {
				t.Errorf("%v: %v", l, err)
			}
			continue
		}
		if l != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %+v, not %+v: %v", c.class.Parameters, l, c.want, err)
		}
	}
}

// A claim's class of attributes bounds what a pod on it does, whether the node holds limits or not.
func TestAttributesAreLimits(t *testing.T) {
	with := func(name, class, attributes, now string) *corev1.PersistentVolumeClaim {
		claim := aClaim(name, class, "")
		if attributes != "" {
			claim.Spec.VolumeAttributesClassName = &attributes
		}
		if now != "" {
			claim.Status.CurrentVolumeAttributesClassName = &now
		}
		return claim
	}
	const openEBS = "local.csi.openebs.io"
	claims := theClaims(t, anAttributesClass("silver", openEBS, "qosIopsWriteLimit", "300"),
		anAttributesClass("gold", openEBS, "qosIopsWriteLimit", "30000000"),
		anAttributesClass("broken", openEBS, "qosIopsWriteLimit", "lots"),
		with("plain", "local-slow", "", ""), with("data", "local-slow", "silver", ""),
		with("more", "local-slow", "silver", ""), with("rising", "local-slow", "gold", "silver"),
		with("fallen", "local-slow", "silver", "gold"), with("gone", "local-slow", "bronze", ""),
		with("odd", "local-slow", "broken", ""))
	k, node := withDrivesFile(t, someDrives), &corev1.Node{}
	judge := func(split string, names ...string) Verdict {
		d, volumes := splitDemand(t, claims, split, names)
		return k.JudgeOn(node, Standing{}, d, volumes)
	}
	full := judge("", "plain").Rate
	for _, c := range []struct {
		split  string
		claims []string
		bound  float64 // writes a second
		note   string
	}{
		{"", []string{"data"}, 300, "claim data is limited by VolumeAttributesClass silver"},
		{"", []string{"rising"}, 300, "silver"}, // until the driver has changed the volume
		{"", []string{"fallen"}, math.Inf(1), ""},
		{"", []string{"data", "more"}, 600, "silver"},
		{"", []string{"data", "plain"}, math.Inf(1), ""},
		{"data: 50%, plain: 50%", []string{"data", "plain"}, 600, "silver"},
		{"data: 100%", []string{"data", "plain"}, 300, "silver"},
		{"", []string{"gone"}, math.Inf(1), "VolumeAttributesClass bronze is not known"},
		{"", []string{"odd"}, math.Inf(1), `qosIopsWriteLimit: "lots"`},
	} {
		v := judge(c.split, c.claims...)
		want := full
		if !math.IsInf(c.bound, 1) {
			want = c.bound / v.Device.Writes * v.Rate
		}
		if v.Rate > want*1.001 || v.Rate < 0.9*min(want, full) || !strings.Contains(v.Note, c.note) {
			t.Errorf("%q with %v: %g operations and %g writes a second (%g without limits): %s", c.split, c.claims, v.Rate,
				v.Device.Writes, full, v.Note)
		}
	}
	least := fmt.Sprintf("%.0f/s", 0.9*full)
	d, volumes := splitDemand(t, claims, "", []string{"data"}, "least-throughput", least)
	if v := k.JudgeOn(node, Standing{}, d, volumes); v.Limit != "least-throughput" || !v.Own ||
		!strings.Contains(v.Broken, "silver") {
		t.Errorf("it asks for more than its class has: %+v", v)
	}
	if _, settled := claims.Of(mounting(aPod(), "data")); settled {
		t.Error("what a class of attributes says is known for good")
	}
	claims.Attributes = nil // an API server without, or an account that may not read them
	if v := judge("", "data"); v.Rate < 0.999*full || v.Note != "" {
		t.Errorf("%+v", v)
	}
}
