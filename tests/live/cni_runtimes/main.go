// Drives go-cni as containerd does, and ocicni as CRI-O does, for one fixed pod.
//
//	runtimes go-cni|ocicni setup|check|status|remove|gc CONF-DIR BIN-DIR NETNS
package main

import (
	"context"
	"fmt"
	"math"
	"os"

	gocni "github.com/containerd/go-cni"
	"github.com/cri-o/ocicni/pkg/ocicni"
)

const (
	id          = "c1"
	cgroup      = "/kubepods/x"
	annotations = "io.kubernetes.cri.pod-annotations"
)

var limits = map[string]string{"kubernetes.io/ingress-bandwidth": "10M"}

func containerd(verb, conf, bin, netns string) error {
	driver, err := gocni.New(
		gocni.WithMinNetworkCount(2),
		gocni.WithPluginConfDir(conf),
		gocni.WithPluginDir([]string{bin}),
	)
	if err != nil {
		return err
	}
	if err := driver.Load(gocni.WithLoNetwork, gocni.WithDefaultConf); err != nil {
		return err
	}
	options := []gocni.NamespaceOpts{
		gocni.WithLabels(map[string]string{
			"IgnoreUnknown":              "1",
			"K8S_POD_NAMESPACE":          "shop",
			"K8S_POD_NAME":               "web",
			"K8S_POD_INFRA_CONTAINER_ID": id,
			"K8S_POD_UID":                "u-1",
		}),
		gocni.WithCapability(annotations, limits),
		gocni.WithCapabilityPortMap([]gocni.PortMapping{
			{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"},
		}),
		gocni.WithCapabilityBandWidth(
			gocni.BandWidth{IngressRate: 10_000_000, IngressBurst: math.MaxUint32}),
		gocni.WithCapabilityDNS(gocni.DNS{Servers: []string{"10.0.0.10"}}),
		gocni.WithCapabilityCgroupPath(cgroup),
	}
	ctx := context.Background()
	switch verb {
	case "setup":
		_, err = driver.SetupSerially(ctx, id, netns, options...)
	case "remove":
		err = driver.Remove(ctx, id, netns, options...)
	case "status":
		err = driver.Status()
	}
	return err
}

func crio(verb, conf, bin, netns string) error {
	driver, err := ocicni.InitCNINoInotify("", conf, "", bin)
	if err != nil {
		return err
	}
	pod := ocicni.PodNetwork{
		Name:      "web",
		Namespace: "shop",
		ID:        id,
		UID:       "u-1",
		NetNS:     netns,
		Aliases:   map[string][]string{"net": {"www"}},
		RuntimeConfig: map[string]ocicni.RuntimeConfig{"net": {
			IP:             "10.1.0.9",
			MAC:            "02:00:00:00:00:09",
			CgroupPath:     cgroup,
			PodAnnotations: &limits,
			IpRanges:       [][]ocicni.IpRange{{{Subnet: "10.1.0.0/24"}}},
			Bandwidth: &ocicni.BandwidthConfig{
				IngressRate: 10_000_000, IngressBurst: math.MaxUint32*8 - 1},
		}},
	}
	switch verb {
	case "setup":
		_, err = driver.SetUpPod(pod)
	case "check":
		_, err = driver.GetPodNetworkStatus(pod)
	case "remove":
		err = driver.TearDownPod(pod)
	case "status":
		err = driver.Status()
	case "gc":
		err = driver.GC(context.Background(), []*ocicni.PodNetwork{&pod})
	}
	return err
}

func main() {
	drive := containerd
	if os.Args[1] == "ocicni" {
		drive = crio
	}
	if err := drive(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
