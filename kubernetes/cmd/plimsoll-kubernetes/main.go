// Command plimsoll-kubernetes lets the scheduler of a Kubernetes cluster know what drives
// carry, and measures its nodes. As kubectl-plimsoll in PATH it is `kubectl plimsoll`.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"plimsoll/internal/cli/buildinfo"
	"plimsoll/internal/observe/metricserver"
	"plimsoll/kubernetes/command"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		command.Say(os.Stderr, "plimsoll-kubernetes: %v", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := command.Root(buildinfo.This(), scheduler.NewRules)
	c.AddCommand(schedulerCommand(), extenderCommand())
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
	var binds bool
	var policy scheduler.Policy
	var cluster command.Cluster
	c := &cobra.Command{
		Use:   "extender",
		Short: "Answer a kube-scheduler that cannot be replaced",
		Long: `Answers under /filter and /prioritize, as extenders of kube-scheduler do, and under /metrics
and /healthz. Any program that reaches it may ask. With --bind it answers under /bind as well: whatever program
reaches it may then bind any pod that waits to any node, past taints and affinity, so it
listens on a loopback address alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := policy.Check(); err != nil {
				return err
			}
			l, err := metricserver.Listen(cmd.Context(), listen)
			if err != nil {
				return err
			}
			defer l.Close()
			if at, is := l.Addr().(*net.TCPAddr); binds && (!is || !at.IP.IsLoopback()) {
				return fmt.Errorf("--bind --listen %s: any program that reaches it could bind pods, so listen on a loopback "+
					"address, beside the scheduler", listen)
			}
			client, err := cluster.Client()
			if err != nil {
				return err
			}
			e, err := scheduler.NewExtender(cmd.Context(), client, namespace)
			if err != nil {
				return err
			}
			e.Binds, e.Policy = binds, policy
			fmt.Fprintf(cmd.ErrOrStderr(), "Answering on http://%s\n", l.Addr())
			return e.Serve(cmd.Context(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8787", "`address` to answer on")
	c.Flags().StringVar(&namespace, "namespace", iofit.Namespace, "`namespace` of the models")
	c.Flags().BoolVar(&binds, "bind", false, "bind pods for whatever program asks, too")
	c.Flags().StringVar(&policy.Unknown, "unknown", "", "`what` becomes of pods if it is not known what they would do: "+
		"Allow or Deny (default: Deny for pods with a limit)")
	c.Flags().StringSliceVar(&policy.LimitNamespaces, "limit-namespaces", nil,
		"`namespaces` with pods that keep other pods away if these would break their limits (default: all)")
	cluster.Flags(c)
	return c
}
