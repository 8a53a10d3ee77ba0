package flower_test

import (
	"os/exec"
	"strings"
	"testing"
)

// layers are the packages by layer, lowest first: a package may import only packages of lower layers, and those of its
// own layer that are named in same.
var layers = map[string]int{
	"flower/internal/failpoint": 0, "flower/transcript": 0, "flower/document": 0, "flower/internal/shell": 0, "flower/internal/disk": 0,
	"flower/internal/proc": 0, "flower/internal/sandbox": 0, "flower/internal/config": 0, "flower/internal/text": 0, "flower/internal/mcp": 0,
	"flower/internal/ignore": 0,
	"flower/agent":           1, "flower/modeltest": 1, "flower/internal/workbench": 1, "flower/internal/worktree": 1,
	"flower/messages": 2, "flower/tools": 2,
	"flower":        3,
	"flower/sqlite": 4, "flower/internal/storetest": 4, "flower/internal/demo": 4, "flower/internal/tui": 4,
	"flower/internal/cli": 5,
	"flower/cmd/flower":   6,
}

// same are the imports inside a layer.
var same = map[string]bool{
	"flower/transcript -> flower/internal/shell":        true, // one function decides what is ephemeral
	"flower/internal/config -> flower/internal/disk":    true,
	"flower/internal/mcp -> flower/internal/proc":       true, // what is started has a keeper
	"flower/internal/disk -> flower/internal/failpoint": true, // which does nothing
}

// TestLayers reads the imports of every package, tests left out, from the go command.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < len(layers) {
		t.Errorf("go list knows %d packages, the table %d", len(lines), len(layers))
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		from := fields[0]
		layer, ok := layers[from]
		if !ok {
			t.Errorf("%s is in no layer", from)
			continue
		}
		for _, to := range fields[1:] {
			if to != "flower" && !strings.HasPrefix(to, "flower/") {
				continue
			}
			below, ok := layers[to]
			switch {
			case !ok:
				t.Errorf("%s imports %s, which is in no layer", from, to)
			case below < layer || same[from+" -> "+to]:
			case from == "flower" && (to == "flower/messages" || to == "flower/tools"):
				t.Errorf("the root sees no endpoint and no tool, but imports %s", to)
			default:
				t.Errorf("%s (layer %d) imports %s (layer %d)", from, layer, to, below)
			}
		}
	}
}
