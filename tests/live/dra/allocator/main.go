// Kubernetes' own allocator of devices behind lines of JSON on stdin and stdout: what it gives to the
// claims of a pod on each node, and how long that takes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type request struct {
	Experimental bool                        `json:"experimental"`
	Nodes        []*core.Node                `json:"nodes"`
	Slices       []*resource.ResourceSlice   `json:"slices"`
	Classes      []*resource.DeviceClass     `json:"classes"`
	Claims       []*resource.ResourceClaim   `json:"claims"`
	Taken        []resource.AllocationResult `json:"taken"`
}

type verdict struct {
	Outcome     string                      `json:"outcome"`
	Error       string                      `json:"error,omitempty"`
	Allocations []resource.AllocationResult `json:"allocations,omitempty"`
}

type reply struct {
	Nodes   []verdict `json:"nodes"`
	Seconds float64   `json:"seconds"`
}

type classes []*resource.DeviceClass

func (c classes) List() ([]*resource.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resource.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("no class %s", name)
}

func state(taken []resource.AllocationResult) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, allocation := range taken {
		for _, result := range allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			state.AggregatedCapacity.Insert(
				structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
	return state
}

func answer(asked *request) (said reply) {
	features := structured.Features{
		AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true,
		DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
	}
	if asked.Experimental {
		features.CompatibilityGroups = true
		features.DerivedAttributes = true
		features.FractionalCapacityRange = true
		features.ListTypeAttributes = true
		features.OptionalNodeOperations = true
	}
	cache := cel.NewCache(100, cel.Features{
		EnableConsumableCapacity: true, EnableListTypeAttributes: asked.Experimental})
	began := time.Now()
	allocator, err := structured.NewAllocator(context.Background(), features, state(asked.Taken),
		classes(asked.Classes), asked.Slices, cache)
	if err != nil {
		return reply{Nodes: []verdict{{Outcome: "error", Error: err.Error()}}}
	}
	for _, node := range asked.Nodes {
		found, err := allocator.Allocate(context.Background(), node, asked.Claims)
		switch {
		case errors.Is(err, structured.ErrFailedAllocationOnNode):
			said.Nodes = append(said.Nodes, verdict{Outcome: "unschedulable", Error: err.Error()})
		case err != nil:
			said.Nodes = append(said.Nodes, verdict{Outcome: "error", Error: err.Error()})
		case found == nil:
			said.Nodes = append(said.Nodes, verdict{Outcome: "unschedulable"})
		default:
			said.Nodes = append(said.Nodes, verdict{Outcome: "allocated", Allocations: found})
		}
	}
	said.Seconds = time.Since(began).Seconds()
	return said
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<28)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			out.Encode(reply{Nodes: []verdict{{Outcome: "bad request", Error: err.Error()}}})
			continue
		}
		out.Encode(answer(&asked))
	}
}
