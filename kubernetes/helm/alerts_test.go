package helm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// series is a time series of a rule's test, a value a minute as promtool writes them.
type series struct{ name, values string }

// pod is a label of what is exported of a pod.
const ofPod = `{namespace="shop", pod="db"`

// alertTests are what an alert is about, and what is like it and no cause. All are looked at after four hours.
var alertTests = map[string]struct{ fires, silent [][]series }{
	"PlimsollLimitsNotHeld": {
		[][]series{{{`plimsoll_limits_containers{held="false"}`, "1x240"}}},
		[][]series{{{`plimsoll_limits_containers{held="false"}`, "0x240"}, {`plimsoll_limits_containers{held="true"}`, "9x240"}}},
	},
	"PlimsollLimitsNotReady": {
		[][]series{{{`plimsoll_limits_ready{node="a"}`, "0x240"}}},
		[][]series{{{`plimsoll_limits_ready{node="a"}`, "1x230 0x10"}}},
	},
	"PlimsollBelowPrediction": {
		[][]series{podAt("6000", `0+30x240`)},
		// It is asked for little, and waits for nothing; it does what was predicted.
		[][]series{podAt("6000", `0+1x240`), podAt("60000", `0+30x240`)},
	},
	"PlimsollAboveDeclared": {
		[][]series{podAt("96001", `0+30x240`)}, // 1600 a second, of 1000
		[][]series{podAt("84000", `0+30x240`)}, // 1400
	},
	"PlimsollLimitsAbsent": {
		[][]series{{{`up`, "1x240"}}, {{`plimsoll_limits_ready{node="a"}`, "1x240"}, wanted("desired_number_scheduled", 2),
			wanted("number_available", 1)}},
		[][]series{{{`plimsoll_limits_ready{node="a"}`, "1x240"}, wanted("desired_number_scheduled", 2),
			wanted("number_available", 2)}, {{`plimsoll_limits_ready{node="a"}`, "1x240"}}},
	},
	"PlimsollPendingByIO": {
		[][]series{{{`scheduler_unschedulable_pods{plugin="IOFit", profile="plimsoll-scheduler"}`, "2x240"}}},
		[][]series{{{`scheduler_unschedulable_pods{plugin="IOFit", profile="plimsoll-scheduler"}`, "0x230 1x10"},
			{`scheduler_unschedulable_pods{plugin="NodeResourcesFit", profile="plimsoll-scheduler"}`, "7x240"}}},
	},
	"PlimsollModelOld": { // the test's clock begins with 1970
		[][]series{{{`plimsoll_model_measured_timestamp_seconds{kind="storage"}`, "-15552000x240"}}},
		[][]series{{{`plimsoll_model_measured_timestamp_seconds{kind="storage"}`, "-15000000x240"}}},
	},
	"PlimsollModelUnreadable": {
		[][]series{{{`plimsoll_model_unreadable{configmap="model-storage"}`, "1x240"}}},
		[][]series{{{`plimsoll_models`, "3x240"}}},
	},
}

// podAt is a pod of which 900 reads and 100 writes a second were predicted, which reads so often a minute and waits.
func podAt(reads, waits string) []series {
	return []series{
		{"plimsoll_container_reads_total" + ofPod + `, container="c", device="vda"}`, "0+" + reads + "x240"},
		{"plimsoll_container_writes_total" + ofPod + `, container="c", device="vda"}`, "0+0x240"},
		{"plimsoll_pod_predicted_reads" + ofPod + `, drive="d"}`, "900x240"},
		{"plimsoll_pod_predicted_writes" + ofPod + `, drive="d"}`, "100x240"},
		{"plimsoll_pod_predicted_least_ratio" + ofPod + `, drive="d"}`, "0.8x240"},
		{"plimsoll_container_io_waited_seconds_total" + ofPod + `, container="c", tasks="some"}`, waits},
	}
}

func wanted(what string, n int) series {
	return series{fmt.Sprintf(`kube_daemonset_status_%s{namespace="plimsoll-limits", daemonset="limits"}`, what),
		fmt.Sprintf("%dx240", n)}
}

// Each alert fires on what it is about, and is silent on what is like it, by Prometheus's own program.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool tries alerts (apt-get install prometheus)")
	}
	all, _, err := render(t, "v1.35.4", "{limits: {enabled: true}, alerts: {enabled: true}}")
	if err != nil {
		t.Fatal(err)
	}
	spec := at(all["PrometheusRule plimsoll-limits/limits"], "spec")
	dir := t.TempDir()
	save := func(name string, what any) string {
		text, err := yaml.Marshal(what)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	save("rules.yaml", spec)
	var tests []any
	for _, r := range at(spec, "groups", 0, "rules").([]any) {
		name := fmt.Sprint(at(r, "alert"))
		cases, known := alertTests[name]
		if !known || len(cases.fires) == 0 || len(cases.silent) == 0 {
			t.Errorf("nothing tries alert %s", name)
		}
		for i, inputs := range append(cases.fires, cases.silent...) {
			var input []map[string]string
			for _, s := range inputs {
				input = append(input, map[string]string{"series": s.name, "values": s.values})
			}
			expected := []map[string]any{}
			if i < len(cases.fires) {
				expected = append(expected, map[string]any{"value": 1})
			}
			tests = append(tests, map[string]any{"name": fmt.Sprintf("%s %d", name, i), "interval": "1m", "input_series": input,
				"promql_expr_test": []any{map[string]any{
					"expr":      fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"})`, name),
					"eval_time": "4h", "exp_samples": expected,
				}}})
		}
	}
	file := save("tests.yaml", map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m",
		"tests": tests})
	c := exec.CommandContext(t.Context(), promtool, "test", "rules", file)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
