// Package command has the verbs of plimsoll-kubernetes that compile nothing of k8s.io/kubernetes.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/observe/metricserver"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/limits"
	"plimsoll/kubernetes/node"
	"plimsoll/kubernetes/replan"
)

// Root returns the program's command with all of its verbs that need no scheduler, and plan, which asks its rules.
func Root(build buildinfo.Build, rules replan.NewRules) *cobra.Command {
	name := filepath.Base(os.Args[0])
	if rest, ok := strings.CutPrefix(name, "kubectl-"); ok {
		name = "kubectl " + rest
	}
	c := &cobra.Command{
		Use:   name,
		Short: "Let a Kubernetes cluster know what its drives carry",
		Long: `Pods say what they are and need in annotations, and nodes of which there is a model are
filled until a limit would break:

    plimsoll.dev/class: orders              of the model, which "plimsoll fit" makes of runs
    plimsoll.dev/least-throughput: 1500/s   operations a second that it is to do
    plimsoll.dev/p99-limit: 10ms

docs/tutorials/3-kubernetes-first-pod.md goes from "kubectl apply" to the first report.`,
		Version: build.Version, SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
	}
	c.Flags().Bool("version", false, "print which build this is") // in place of what Kubernetes declares for all commands
	c.SetVersionTemplate(build.Line("plimsoll-kubernetes") + "\n")
	c.AddCommand(planCommand(rules), nodesCommand(), fleetCommand(), limitsCommand(), classCommand(),
		nodeCommand(), manCommand(build.Version))
	return c
}

func limitsCommand() *cobra.Command {
	var socket, host, listen, pod string
	var cluster Cluster
	c := &cobra.Command{
		Use:   "limits",
		Short: "Hold the pods of this node to the limits on devices that they say",
		Long: `A plugin of NRI: the container runtime (containerd 2) shows it of each container before
it starts. What a pod's annotation plimsoll.dev/limits says of reads and writes is set for the
disks that its volumes stand on, and read back; a container that is not held to its limits
does not start. With cgroups of version 2 the runtime sets them; with version 1 this does, as root, with the node's
cgroups and file systems; in a pod, --host names the volume that has them.

It answers under /readyz, whether limits of this node count, and under /metrics: what containers of pods with a class
or limits do to their disks, beside what was predicted of them. Under /usage/UID it answers what the pod of that uid
uses, for "class". With --pod, it publishes what pods without a class do to their disks, for schedulers.`,
		Example: `  plimsoll-kubernetes limits --socket /var/run/nri/nri.sock`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case host != "" && pod != "":
				return errors.New("--pod and --host: cgroups of version 1 count nothing of pods without limits")
			case host != "":
				return node.Exec(host, "limits", "--socket="+socket, "--listen="+listen)
			}
			l, err := metricserver.Listen(cmd.Context(), listen)
			if err != nil {
				return err
			}
			p := limits.New(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			both, ctx := errgroup.WithContext(cmd.Context())
			if pod != "" {
				client, err := cluster.Client()
				if err != nil {
					return err
				}
				both.Go(func() error { return p.Publish(ctx, publisher(client, pod)) })
			}
			both.Go(func() error { return p.Serve(ctx, l) })
			both.Go(func() error { return p.Run(ctx, socket) })
			return both.Wait()
		},
	}
	c.Flags().StringVar(&socket, "socket", "", "`path` of the runtime's socket (default /var/run/nri/nri.sock)")
	c.Flags().StringVar(&listen, "listen", fmt.Sprintf("127.0.0.1:%d", limits.Port), "`address` to answer on")
	c.Flags().StringVar(&host, "host", "", "`directory` that has the node's file systems, in a pod")
	c.Flags().StringVar(&pod, "pod", "", "`name` of the pod that this is, in "+iofit.LimitsNamespace+
		": its annotation has what pods without a class do")
	cluster.Flags(c)
	return c
}

// publisher returns a function that writes what pods without a class do into an annotation of a pod of limits. It asks
// for the pod's status alone, which lets nobody change what the pod runs.
func publisher(client kubernetes.Interface, pod string) func(context.Context, string) error {
	return func(ctx context.Context, undeclared string) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{iofit.UndeclaredAnnotation: undeclared}}})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Pods(iofit.LimitsNamespace).Patch(ctx, pod, types.MergePatchType, patch,
			metav1.PatchOptions{}, "status")
		if err != nil {
			return fmt.Errorf("patch the annotation %s of pod %s/%s: %w", iofit.UndeclaredAnnotation, iofit.LimitsNamespace,
				pod, err)
		}
		return nil
	}
}

// Cluster is how a cluster is reached.
type Cluster struct {
	command   *cobra.Command
	rules     clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// Flags gives a command the flags that say how.
func (k *Cluster) Flags(c *cobra.Command) {
	k.command = c
	k.rules = *clientcmd.NewDefaultClientConfigLoadingRules()
	c.Flags().StringVar(&k.rules.ExplicitPath, "kubeconfig", "", "`file` that says how to reach the cluster")
	c.Flags().StringVar(&k.overrides.CurrentContext, "context", "", "`context` of that file")
}

func (k *Cluster) config() (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&k.rules, &k.overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster is known: %w (name a file with --kubeconfig)", err)
	}
	config.QPS, config.Burst, config.UserAgent = 100, 200, "plimsoll-kubernetes/"+k.command.Root().Version
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config, nil
}

// Client returns a client of the cluster.
func (k *Cluster) Client() (*kubernetes.Clientset, error) {
	config, err := k.config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
