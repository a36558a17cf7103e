// Kubernetes' own compiler of expressions for devices behind lines of JSON on stdin and stdout: what it
// makes of an expression, what that costs at most, and what it says of a device.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

type request struct {
	Expression string          `json:"expression"`
	Lists      bool            `json:"lists"`
	Stored     bool            `json:"stored"`
	Driver     string          `json:"driver"`
	Device     resource.Device `json:"device"`
}

type reply struct {
	Refused string `json:"refused,omitempty"`
	Type    string `json:"type,omitempty"`
	Cost    string `json:"cost,omitempty"`
	Result  string `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
}

func answer(asked *request) (said reply) {
	defer func() {
		if problem := recover(); problem != nil {
			said = reply{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	kind := environment.NewExpressions
	if asked.Stored {
		kind = environment.StoredExpressions
	}
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: asked.Lists}
	compiled := cel.GetCompiler(features).CompileCELExpression(
		asked.Expression, cel.Options{EnvType: &kind})
	if compiled.Error != nil {
		return reply{Refused: compiled.Error.Error()}
	}
	said.Type = compiled.OutputType.String()
	said.Cost = strconv.FormatUint(compiled.MaxCost, 10)
	matches, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   asked.Driver,
		AllowMultipleAllocations: asked.Device.AllowMultipleAllocations,
		Attributes:               asked.Device.Attributes,
		Capacity:                 asked.Device.Capacity,
	})
	if err != nil {
		said.Error = err.Error()
	} else {
		said.Result = strconv.FormatBool(matches)
	}
	return said
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			out.Encode(reply{Error: "bad request: " + err.Error()})
			continue
		}
		out.Encode(answer(&asked))
	}
}
