// Command mock-driver serves the mock CSI driver of the Kubernetes end-to-end
// tests as a program of its own, so that a suite can be pointed at it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mock-driver:", err)
		os.Exit(1)
	}
}

func run() error {
	var config service.Config
	endpoint := flag.String("endpoint", os.Getenv("CSI_ENDPOINT"), "where to listen: unix:///path or a path (default $CSI_ENDPOINT)")
	flag.StringVar(&config.DriverName, "name", service.Name, "driver name, also the node id")
	flag.BoolVar(&config.DisableAttach, "disable-attach", false, "no PUBLISH_UNPUBLISH_VOLUME")
	flag.Int64Var(&config.AttachLimit, "attach-limit", 0, "volumes per node, 0 for no limit")
	flag.BoolVar(&config.EnableTopology, "topology", false, "VOLUME_ACCESSIBILITY_CONSTRAINTS, with one fixed segment")
	flag.BoolVar(&config.NodeExpansionRequired, "node-expansion", false, "EXPAND_VOLUME of the node")
	flag.BoolVar(&config.DisableControllerExpansion, "disable-controller-expansion", false, "no EXPAND_VOLUME of the controller")
	flag.BoolVar(&config.DisableOnlineExpansion, "disable-online-expansion", false, "VolumeExpansion OFFLINE in place of ONLINE")
	flag.BoolVar(&config.VolumeMountGroupRequired, "volume-mount-group", false, "VOLUME_MOUNT_GROUP of the node")
	flag.BoolVar(&config.NodeVolumeConditionRequired, "node-volume-health", false, "GET_VOLUME_HEALTH of the node")
	flag.BoolVar(&config.NodeStorageHealthRequired, "node-storage-health", false, "GET_STORAGE_HEALTH of the node")
	flag.BoolVar(&config.PermissiveTargetPath, "permissive-target-path", false, "accept a target path that exists (1.37.2 accepts it anyway)")
	klog.InitFlags(nil) // -v=3 logs every call, secrets included
	flag.Parse()

	path := strings.TrimPrefix(*endpoint, "unix://")
	if path == "" {
		return errors.New("no endpoint: set -endpoint or CSI_ENDPOINT")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	mock := service.New(config)
	server := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock})
	if err := server.Start(listener, nil); err != nil {
		return err
	}
	fmt.Println("listening on", path)
	<-stop
	server.Stop() // closes the listener, which removes the socket
	return nil
}
