// Package kubetest has a control plane of Kubernetes in the process of a test: etcd, the
// API server and a scheduler with IOFit, without kubelets.
package kubetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/events"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/kubernetes/test/utils/ktesting"
)

// Start starts etcd and an API server, which end with the test, and returns how to reach
// the server as its administrator. More flags of the server may be given.
func Start(t testing.TB, extraFlags ...string) *rest.Config {
	t.Helper()
	ktesting.SetDefaultVerbosity(0) // what it logs of each request otherwise takes longer than the requests
	e := embed.NewConfig()
	e.Dir, e.UnsafeNoFsync, e.LogLevel = t.TempDir(), true, "error"
	clients, peers := free(t), free(t)
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	e.InitialCluster = e.InitialClusterFromName(e.Name)
	server, err := embed.StartEtcd(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(5 * time.Minute):
		t.Fatal("etcd is not ready after five minutes")
	}
	storage := storagebackend.NewDefaultConfig("/plimsoll-test", nil)
	storage.Transport.ServerList = []string{clients.String()}
	// The test server keeps certificates beside its own source. Compiled with -trimpath it does not know where
	// that is, and takes a place below these.
	place := t.TempDir()
	t.Setenv("TEST_SRCDIR", place)
	t.Setenv("TEST_WORKSPACE", "source")
	source, _ := goruntime.FuncForPC(reflect.ValueOf(apiserver.StartTestServer).Pointer()).FileLine(0)
	err = os.MkdirAll(filepath.Join(place, "source", filepath.Dir(source), "testdata"), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing here makes service accounts.
	flags := []string{"--disable-admission-plugins=ServiceAccount", "--authorization-mode=RBAC",
		"--bind-address=127.0.0.1", "--allow-privileged=true"}
	s := apiserver.StartTestServerOrDie(t, apiserver.NewDefaultTestServerOptions(), append(flags, extraFlags...), storage)
	t.Cleanup(s.TearDownFn)
	c := rest.CopyConfig(s.ClientConfig)
	c.QPS, c.Burst = 5000, 5000
	return c
}

// Kubeconfig returns how to reach a cluster, as programs read it.
func Kubeconfig(c *rest.Config) api.Config {
	out := *api.NewConfig()
	out.Clusters["c"] = &api.Cluster{
		Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile, TLSServerName: c.ServerName,
	}
	out.AuthInfos["u"] = &api.AuthInfo{
		Token: c.BearerToken, ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, ClientCertificate: c.CertFile,
		ClientKey: c.KeyFile,
	}
	out.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	out.CurrentContext = "x"
	return out
}

// free returns an address of loopback that nobody listens to.
func free(t testing.TB) url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// Schedule runs a scheduler whose profiles enable plugins of a registry on top of the
// default ones, until the function that it returns is called, or the test ends.
func Schedule(t testing.TB, c *rest.Config, plugins runtime.Registry,
	change ...func(*config.KubeSchedulerConfiguration),
) (stop func()) {
	t.Helper()
	dynamics := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(c), 0)
	return ScheduleFor(t, kubernetes.NewForConfigOrDie(c), dynamics, plugins, change...)
}

// informersOf returns a scheduler's informers. Since 1.37 they take a name as well, which may be nil.
func informersOf(client kubernetes.Interface) informers.SharedInformerFactory {
	construct := reflect.ValueOf(scheduler.NewInformerFactory)
	args := []reflect.Value{reflect.ValueOf(&client).Elem(), reflect.ValueOf(time.Duration(0))}
	if construct.Type().NumIn() > len(args) {
		args = append(args, reflect.Zero(construct.Type().In(len(args))))
	}
	factory, _ := construct.Call(args)[0].Interface().(informers.SharedInformerFactory)
	return factory
}

// ScheduleFor is Schedule for a client, which may be a fake one without the informers of objects of any type.
func ScheduleFor(t testing.TB, client kubernetes.Interface, dynamics dynamicinformer.DynamicSharedInformerFactory,
	plugins runtime.Registry, change ...func(*config.KubeSchedulerConfiguration),
) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	configuration, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	enabled := &configuration.Profiles[0].Plugins.MultiPoint.Enabled
	for name := range plugins {
		*enabled = append(*enabled, config.Plugin{Name: name, Weight: 10})
	}
	for _, f := range change {
		f(configuration)
	}
	informers := informersOf(client)
	recorders := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	err = recorders.StartRecordingToSinkWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.New(ctx, client, informers, dynamics, profile.NewRecorderFactory(recorders),
		scheduler.WithProfiles(configuration.Profiles...), scheduler.WithFrameworkOutOfTreeRegistry(plugins),
		scheduler.WithExtenders(configuration.Extenders...),
		scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	if err != nil {
		t.Fatal(fmt.Errorf("the scheduler does not start: %w", err))
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil { // until it knows all nodes
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	stop = func() { cancel(); recorders.Shutdown(); <-ended }
	t.Cleanup(stop)
	return stop
}
