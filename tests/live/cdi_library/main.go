// The Go library of CDI behind lines of JSON on stdin and stdout, as conformance/cdi/implementation
// describes them. It does not recover from panics: that the library ends a runtime is a finding.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

const module = "tags.cncf.io/container-device-interface"

type request struct {
	Act         string            `json:"act"`
	Cache       int               `json:"cache"`
	Directories []string          `json:"directories"`
	Watched     bool              `json:"watched"`
	Config      *oci.Spec         `json:"config"`
	Devices     []string          `json:"devices"`
	Document    *specs.Spec       `json:"document"`
	Path        string            `json:"path"`
	Annotations map[string]string `json:"annotations"`
	Plugin      string            `json:"plugin"`
	DeviceID    string            `json:"device_id"`
}

type reply map[string]any

var caches = map[int]*cdi.Cache{}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == module {
			return each.Version[1:]
		}
	}
	return ""
}

func hello() reply {
	features := []string{
		"load", "inject", "config", "request", "directories", "watch", "minimum", "write",
		"annotations",
	}
	return reply{"name": "cdi-go", "version": version(), "features": features}
}

func open(asked *request) (reply, error) {
	cache, err := cdi.NewCache(
		cdi.WithSpecDirs(asked.Directories...), cdi.WithAutoRefresh(asked.Watched))
	caches[asked.Cache] = cache
	return reply{}, err
}

func load(cache *cdi.Cache) (reply, error) {
	_ = cache.Refresh() // what it found is in GetErrors
	texts := map[string][]string{}
	for path, found := range cache.GetErrors() {
		for _, err := range found {
			texts[path] = append(texts[path], err.Error())
		}
	}
	return reply{"devices": append([]string{}, cache.ListDevices()...), "errors": texts}, nil
}

func inject(cache *cdi.Cache, asked *request) (reply, error) {
	unresolved, err := cache.InjectDevices(asked.Config, asked.Devices...)
	return reply{"config": asked.Config, "unresolved": unresolved}, err
}

func write(asked *request) (reply, error) {
	folder, name := filepath.Split(asked.Path)
	cache, err := cdi.NewCache(cdi.WithSpecDirs(folder), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, err
	}
	return reply{}, cache.WriteSpec(asked.Document, name)
}

func answer(asked *request) (reply, error) {
	cache := caches[asked.Cache]
	switch asked.Act {
	case "hello":
		return hello(), nil
	case "open":
		return open(asked)
	case "minimum":
		found, err := specs.MinimumRequiredVersion(asked.Document)
		return reply{"version": found}, err
	case "write":
		return write(asked)
	case "annotate":
		found, err := cdi.UpdateAnnotations(
			asked.Annotations, asked.Plugin, asked.DeviceID, asked.Devices)
		return reply{"annotations": found}, err
	case "parse":
		_, names, err := cdi.ParseAnnotations(asked.Annotations)
		return reply{"devices": names}, err
	}
	if cache == nil {
		return nil, errors.New("there is no such cache")
	}
	switch asked.Act {
	case "load":
		return load(cache)
	case "inject":
		return inject(cache, asked)
	case "close":
		// Ends watching, and with it the library's threads.
		err := cache.Configure(cdi.WithAutoRefresh(false))
		delete(caches, asked.Cache)
		return reply{}, err
	}
	return nil, fmt.Errorf("there is no act %q", asked.Act)
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		asked := &request{}
		if err = json.Unmarshal(line, asked); err != nil {
			_ = answers.Encode(reply{"error": err.Error()})
			continue
		}
		found, err := answer(asked)
		if err != nil {
			if found == nil {
				found = reply{}
			}
			found["error"] = err.Error()
		}
		if err = answers.Encode(found); err != nil {
			_ = answers.Encode(reply{"error": err.Error()})
		}
	}
}
