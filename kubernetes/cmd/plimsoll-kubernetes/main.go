// Command plimsoll-kubernetes lets the scheduler of a Kubernetes cluster know what drives
// carry, and measures its nodes. As kubectl-plimsoll in PATH it is `kubectl plimsoll`.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"plimsoll/kubernetes/limits"
	"plimsoll/kubernetes/node"
	"plimsoll/kubernetes/scheduler"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "plimsoll-kubernetes:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
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

docs/kubernetes.md goes from "kubectl apply" to the first report.`,
		Version: version, SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
	}
	c.AddCommand(schedulerCommand(), extenderCommand(), planCommand(), fleetCommand(), limitsCommand(), nodeCommand())
	return c
}

// schedulerCommand is kube-scheduler itself, with one plugin more.
func schedulerCommand() *cobra.Command {
	c := kubescheduler.NewSchedulerCommand(kubescheduler.WithPlugin(scheduler.Name, scheduler.New))
	c.Use = "scheduler"
	c.Short = "Run kube-scheduler with the plugin " + scheduler.Name
	return c
}

func extenderCommand() *cobra.Command {
	var listen, namespace string
	var cluster cluster
	c := &cobra.Command{
		Use:   "extender",
		Short: "Answer a kube-scheduler that cannot be replaced",
		Long: `Answers under /filter, /prioritize and /bind, as extenders of kube-scheduler do, and under
/metrics and /healthz. Whoever reaches it may ask: listen where only the scheduler does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := cluster.client()
			if err != nil {
				return err
			}
			e, err := scheduler.NewExtender(cmd.Context(), client, namespace)
			if err != nil {
				return err
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listen on %s: %w (choose another with --listen)", listen, err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Answering on http://%s\n", l.Addr())
			return e.Serve(cmd.Context(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8787", "`address` to answer on")
	c.Flags().StringVar(&namespace, "namespace", scheduler.Namespace, "`namespace` of the models")
	cluster.flags(c)
	return c
}

func limitsCommand() *cobra.Command {
	var socket, host string
	c := &cobra.Command{
		Use:   "limits",
		Short: "Hold the pods of this node to the limits on devices that they say",
		Long: `A plugin of NRI: the container runtime (containerd 2, CRI-O) tells it of each container before
it starts. What a pod's annotation plimsoll.dev/limits says of reads and writes is set for the
disks that its volumes stand on, and read back; a container that is not held to its limits
does not start. Runs as root, with the node's control groups and file systems; in a pod,
--host names the volume that has them.`,
		Example: `  plimsoll-kubernetes limits --socket /var/run/nri/nri.sock`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host != "" {
				return node.Exec(host, "limits", "--socket="+socket)
			}
			return limits.New(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))).Run(cmd.Context(), socket)
		},
	}
	c.Flags().StringVar(&socket, "socket", "", "`path` of the runtime's socket (default /var/run/nri/nri.sock)")
	c.Flags().StringVar(&host, "host", "", "`directory` that has the node's file systems, in a pod")
	return c
}

// cluster is how a cluster is reached.
type cluster struct {
	rules     clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func (k *cluster) flags(c *cobra.Command) {
	k.rules = *clientcmd.NewDefaultClientConfigLoadingRules()
	c.Flags().StringVar(&k.rules.ExplicitPath, "kubeconfig", "", "`file` that says how to reach the cluster")
	c.Flags().StringVar(&k.overrides.CurrentContext, "context", "", "`context` of that file")
}

func (k *cluster) config() (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&k.rules, &k.overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster is known: %w (name a file with --kubeconfig)", err)
	}
	config.QPS, config.Burst, config.UserAgent = 100, 200, "plimsoll-kubernetes/"+version
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return config, nil
}

func (k *cluster) client() (*kubernetes.Clientset, error) {
	config, err := k.config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
